import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { indexDefinition } from '../../functions/src/engine/definition-index.ts';
import { checkDefinition, parseDefinition } from '../../functions/src/engine/preflight.ts';
import { errorCodes } from '../../functions/src/model/errors.ts';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import { operations } from '../../functions/src/triggers/operations.ts';
import { asObject, parseJson } from '../json-objects.ts';
import { ROOT } from '../root.ts';
import { generatedPages } from './generate.ts';
import { anchorsOf, blocksOf, proseOf, readPages } from './pages.ts';
import type { Block } from './pages.ts';

const pages = readPages(ROOT);
const blocks = pages.flatMap(blocksOf);
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const place = ({ page, line }: Block): string => `${page}:${line}`;

test('pages that are made from the code are up to date: npm run docs', () => {
  for (const [path, text] of generatedPages(ROOT)) expect(read(path)).toBe(text);
});

describe('snippets', () => {
  const marked = blocks.filter(({ words }) => words[0] === 'json' && words[1] === 'kiln');

  test.each(marked.map((block) => [place(block), block] as const))('the workflow at %s passes pre-flight', (_place, { text }) => {
    const json = parseJson(text);
    expect(json).toBeDefined();
    const parsed = parseDefinition(json);
    const found =
      parsed.definition === undefined ? parsed.problems : checkDefinition(indexDefinition(parsed.definition), createStepRegistry());
    expect(found).toEqual([]);
  });

  test('the guide and the README have some', () => {
    for (const page of ['README.md', 'docs/graph-workflows.md']) expect(marked.some((block) => block.page === page)).toBe(true);
  });

  test('every JSON block is JSON', () => {
    const broken = blocks.filter(({ words, text }) => words[0] === 'json' && parseJson(text) === undefined);
    expect(broken.map(place)).toEqual([]);
  });

  test('code from a file stands in that file, in this order, with omissions marked', () => {
    const quoted = blocks.flatMap((block) =>
      block.words.flatMap((word) => (word.startsWith('file=') ? [{ block, file: word.slice(5) }] : [])),
    );
    expect(quoted.length).toBeGreaterThan(0);
    for (const { block, file } of quoted) {
      const source = read(file);
      let from = 0;
      for (const part of block.text.split(/^\s*\/\/ …\n/m)) {
        const at = source.indexOf(part.trimEnd(), from);
        if (at === -1) throw new Error(`${place(block)}: this is not in ${file}, or not in this place:\n${part}`);
        from = at + part.trimEnd().length;
      }
      expect(from).toBeGreaterThan(0);
    }
  });
});

test('links lead to files that exist, and to headings that they have', () => {
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const dead = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page.path : join(dirname(page.path), path);
      if (!existsSync(join(ROOT, file))) return [`${page.path} → ${target}`];
      const other = byPath.get(file);
      if (anchor === undefined || other === undefined) return [];
      return anchorsOf(other).has(anchor) ? [] : [`${page.path} → ${target}: no such heading`];
    }),
  );
  expect(dead).toEqual([]);
});

describe('error codes', () => {
  const groups = new Set(Object.keys(errorCodes).map((code) => code.split('.')[0] ?? ''));
  /** `step.run` and the like are methods that code workflows call. */
  const methods = new Set(
    [...read('functions/src/durable/step-api.ts').matchAll(/^ {2}(\w+)[<(]/gm)].flatMap(([, name = '']) => [`step.${name}`, `run.${name}`]),
  );

  test('every code that a page names exists', () => {
    const wrong = pages.flatMap((page) =>
      [...proseOf(page).matchAll(/`([a-z]+\.[a-z_]+)`/g)].flatMap(([, code = '']) => {
        const group = code.split('.')[0] ?? '';
        const other =
          methods.has(code) || Object.hasOwn(operations, code) || /\.(?:ts|md|json|rules|yml|mjs|id)$/.test(code) || !groups.has(group);
        return other || Object.hasOwn(errorCodes, code) ? [] : [`${page.path}: ${code}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('every code is explained', () => {
    const text = read('docs/errors.md');
    expect(Object.keys(errorCodes).filter((code) => !text.includes(`| \`${code}\` |`))).toEqual([]);
  });
});

test('every step type has its entry in the reference', () => {
  const text = read('docs/reference.md');
  const names = createStepRegistry().names();
  expect(names.filter((name) => !text.includes(`## Step: ${name}\n`))).toEqual([]);
});

test('commands that pages tell to type exist', () => {
  const scripts = asObject(asObject(parseJson(read('package.json')))?.['scripts']) ?? {};
  const sources = readdirSync(join(ROOT, 'scripts', 'kiln'))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => read(join('scripts', 'kiln', name)))
    .join('\n');
  const wrong = pages.flatMap(({ path, text }) => [
    ...[...text.matchAll(/npm run ([a-z][a-z:-]*)/g)].flatMap(([, name = '']) => (name in scripts ? [] : [`${path}: npm run ${name}`])),
    ...[...text.matchAll(/npm run kiln -- ([a-z][a-z-]*)/g)].flatMap(([, name = '']) =>
      new RegExp(String.raw`\.command\(['"\`]${name}[ '"\`]`).test(sources) ||
      ['approve', 'reject', 'pause', 'resume', 'cancel', 'compensate'].includes(name)
        ? []
        : [`${path}: npm run kiln -- ${name}`],
    ),
  ]);
  expect(wrong).toEqual([]);
});

test('every setting of a deployment is explained', () => {
  const settings = new Set(
    [...read('functions/src/triggers/config.ts').matchAll(/text\('(KILN_[A-Z_]+)'\)/g)].map(([, name = '']) => name),
  );
  const docs = pages.map(({ text }) => text).join('\n');
  expect([...settings].filter((name) => !docs.includes(name))).toEqual([]);
});

test('every room says in at most ten lines what it is for and what never goes in', () => {
  const source = join('functions', 'src');
  const inside = readdirSync(join(ROOT, source)).map((name) => join(source, name));
  const rooms = [...inside.filter((path) => statSync(join(ROOT, path)).isDirectory()), 'emulator-tests', 'scripts', join('web', 'src')];
  const poor = rooms.filter((room) => {
    const file = join(room, 'README.md');
    if (!existsSync(join(ROOT, file))) return true;
    const text = read(file);
    return text.trim().split('\n').length > 10 || !text.includes('Never in here:');
  });
  expect(poor).toEqual([]);
});

test('the table of rooms has every room', () => {
  const page = read('docs/architecture.md');
  const rooms = readdirSync(join(ROOT, 'functions', 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const rows = page.slice(page.indexOf('## Rooms'), page.indexOf('## The store port')).split('\n');
  const complete = (name: string): boolean =>
    rows.some(
      (row) =>
        row.startsWith(`| \`${name}/\``) &&
        row
          .split('|')
          .slice(2, 4)
          .every((cell) => cell.trim() !== ''),
    );
  expect(rooms.map(({ name }) => name).filter((name) => !complete(name))).toEqual([]);
});

test('no picture is missing, and every page of docs can be reached from the README', () => {
  const linked = new Set<string>();
  const visit = (path: string): void => {
    const page = pages.find((one) => one.path === path);
    if (page === undefined || linked.has(path)) return;
    linked.add(path);
    for (const [, target = ''] of proseOf(page).matchAll(/\]\(([^)\s#]+)[^)]*\)/g))
      if (!/^[a-z]+:/.test(target)) visit(join(dirname(path), target));
  };
  visit('README.md');
  expect(pages.map(({ path }) => path).filter((path) => /^docs\/[^/]+\.md$/.test(path) && !linked.has(path))).toEqual([]);
});

test('the failure contract names, for each row, tests that exist', () => {
  const rows = read('docs/failure-contract.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (?:what fails|---)/.test(line));
  expect(rows.length).toBeGreaterThan(10);
  for (const row of rows) {
    const named = [...row.matchAll(/`([^`]+\.test\.ts)`: "([^"]+)"/g)];
    expect(named, row).not.toEqual([]);
    const gone = named.filter(([, file = '', title = '']) => !titlesOf(read(file)).some((one) => one.includes(title)));
    expect(gone.map(([text]) => text)).toEqual([]);
  }
});

/** The texts that a test file gives its tests and groups: first arguments that are followed by a function. */
function titlesOf(source: string): readonly string[] {
  const calls = /\(\s*(['`])((?:(?!\1)[\s\S])+)\1,\s*(?:\{[^}]*\},\s*)?(?:async )?(?:\(|\w+ =>)/g;
  return [...source.matchAll(calls)].map(([, , title = '']) => title);
}
