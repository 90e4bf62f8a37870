import { Environment } from '@marcbachmann/cel-js';
import type { ASTNode, ParseError } from '@marcbachmann/cel-js';
import { KilnError } from '../model/errors.ts';
import { Evaluation, isBind, macroOf } from './cel-evaluator.ts';
import { globalFunctions, methods } from './cel-functions.ts';
import { Fuel, toJson } from './cel-values.ts';
import type { Json } from './json.ts';
import { compilePattern } from './pattern.ts';
import type { Problem } from './problem.ts';

/** What an expression can name. `found` is the result of a reconciliation's check. */
export const conditionRoots = [
  'workflow_input',
  'step',
  'loop_item',
  'loop_index',
  'event',
  'vars',
  'output',
  'run',
  'found',
  'input',
] as const;

const CHARS_MAX = 4_000;
const CACHE_MAX = 500;
/** About half a second at most. */
const FUEL = 1_000_000;

/** Stands in for `has` in the type check; of the same length, so that places stay the same. */
const HAS_STAND_IN = 'Has';

const limits = { maxAstNodes: 1_000, maxDepth: 50, maxListElements: 500, maxMapEntries: 500, maxCallArguments: 8 };
const environment = createEnvironment();
const parsed = new Map<string, ASTNode>();

function createEnvironment(): Environment {
  const created = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: false,
    limits,
  });
  for (const root of conditionRoots) {
    created.registerVariable(root, 'dyn');
  }
  // In JSON 1000 and 1000.5 are one type; the declarations are for the type check, our evaluation does the work.
  const declared = (): null => null;
  for (const operator of ['+', '-', '*', '/']) {
    created.registerOperator(`int ${operator} double: double`, declared);
    created.registerOperator(`double ${operator} int: double`, declared);
  }
  created.registerFunction('timestamp(google.protobuf.Timestamp): google.protobuf.Timestamp', declared);
  created.registerFunction('int(google.protobuf.Timestamp): int', declared);
  created.registerFunction('string(google.protobuf.Timestamp): string', declared);
  created.registerFunction('string(google.protobuf.Duration): string', declared);
  // Has(…) stands in for has(…) in the type check: the library’s macro refuses has(step["my-step"].x).
  created.registerFunction(`${HAS_STAND_IN}(dyn): bool`, declared);
  return created;
}

/** @throws KilnError `condition.syntax` */
function parse(text: string): ASTNode {
  const known = parsed.get(text);
  if (known !== undefined) {
    return known;
  }
  if (text.length > CHARS_MAX) {
    throw new KilnError('condition.syntax', `The expression is longer than ${CHARS_MAX} characters.`);
  }
  let node: ASTNode;
  try {
    node = environment.parse(text).ast;
  } catch (error) {
    throw new KilnError('condition.syntax', `The expression cannot be read: ${described(error)}.`, { cause: error });
  }
  if (parsed.size >= CACHE_MAX) {
    parsed.clear();
  }
  parsed.set(text, node);
  return node;
}

/** What the library says, without the drawing of the source line, and with the place. */
function described(error: unknown): string {
  if (error instanceof Error && 'summary' in error && typeof error.summary === 'string') {
    const start = 'range' in error ? (error.range as ParseError['range'])?.start : undefined;
    return start === undefined ? error.summary : `${error.summary}, at character ${start}`;
  }
  return error instanceof RangeError ? 'it is nested too deeply' : error instanceof Error ? error.message : String(error);
}

interface Findings {
  readonly stepIds: Set<string>;
  readonly roots: Set<string>;
  readonly problems: Problem[];
  /** Where `has` stands in the text. */
  readonly hasAt: number[];
}

function inspect(text: string): Findings {
  const findings: Findings = { stepIds: new Set(), roots: new Set(), problems: [], hasAt: [] };
  visit(parse(text), new Set(), findings);
  return findings;
}

function visit(node: ASTNode, bound: ReadonlySet<string>, findings: Findings): void {
  switch (node.op) {
    case 'value':
      if (typeof node.args === 'object' && node.args !== null) {
        problem(findings, node, 'condition.syntax', 'bytes and unsigned numbers are not supported');
      }
      return;
    case 'id':
      visitName(node.args, node, bound, findings);
      return;
    case '.':
    case '.?':
      visitAccess(node.args[0], node.args[1], node, bound, findings);
      return;
    case '[]':
    case '[?]': {
      const [container, key] = node.args;
      visit(key, bound, findings);
      visitAccess(container, key.op === 'value' && typeof key.args === 'string' ? key.args : undefined, node, bound, findings);
      return;
    }
    case 'call':
      visitCall(node.args[0], node.args[1], node, bound, findings);
      return;
    case 'rcall':
      visitMethod(node.args, node, bound, findings);
      return;
    case 'map':
      visitAll(node.args.flat(), bound, findings);
      return;
    case '!_':
    case '-_':
      visit(node.args, bound, findings);
      return;
    default:
      visitAll(node.args, bound, findings);
  }
}

function visitAll(nodes: readonly ASTNode[], bound: ReadonlySet<string>, findings: Findings): void {
  for (const node of nodes) {
    visit(node, bound, findings);
  }
}

function visitName(name: string, node: ASTNode, bound: ReadonlySet<string>, findings: Findings): void {
  if (bound.has(name)) {
    return;
  }
  if (conditionRoots.some((root) => root === name)) {
    findings.roots.add(name);
  }
  if (name === 'step') {
    problem(findings, node, 'condition.syntax', 'step is followed by the id of one step: step.id or step["id"]');
  }
}

/** Only outputs that are named can be read beforehand, so the id of a step cannot be computed. */
function visitAccess(container: ASTNode, key: string | undefined, node: ASTNode, bound: ReadonlySet<string>, findings: Findings): void {
  if (container.op !== 'id' || container.args !== 'step' || bound.has('step')) {
    visit(container, bound, findings);
    return;
  }
  findings.roots.add('step');
  if (key === undefined) {
    problem(findings, node, 'condition.syntax', 'the id of a step must be written out: step.id or step["id"]');
  } else {
    findings.stepIds.add(key);
  }
}

function visitCall(name: string, args: readonly ASTNode[], node: ASTNode, bound: ReadonlySet<string>, findings: Findings): void {
  if (name === 'has') {
    findings.hasAt.push(node.start);
    const [path] = args;
    if (args.length !== 1 || (path?.op !== '.' && path?.op !== '[]')) {
      problem(findings, node, 'condition.syntax', 'has takes one path: has(workflow_input.a.b)');
    }
  } else if (!globalFunctions.has(name)) {
    problem(findings, node, 'condition.syntax', `there is no function ${name}(…)`);
  }
  visitAll(args, bound, findings);
}

function visitMethod(
  [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
  node: ASTNode,
  bound: ReadonlySet<string>,
  findings: Findings,
): void {
  const [variable, ...rest] = args;
  if (isBind(name, receiver)) {
    const [value, body] = rest;
    if (variable?.op !== 'id' || value === undefined || body === undefined) {
      problem(findings, node, 'condition.syntax', 'cel.bind takes a name, a value and an expression');
      return;
    }
    visit(value, bound, findings);
    visit(body, new Set([...bound, variable.args]), findings);
    return;
  }
  visit(receiver, bound, findings);
  if (macroOf(name) !== undefined) {
    if (variable?.op !== 'id' || rest.length === 0) {
      problem(findings, node, 'condition.syntax', `${name} takes a name and an expression: list.${name}(item, …)`);
      return;
    }
    visitAll(rest, new Set([...bound, variable.args]), findings);
    return;
  }
  if (!methods.has(name)) {
    problem(findings, node, 'condition.syntax', `there is no method .${name}(…)`);
  }
  if (name === 'matches' && variable?.op === 'value' && typeof variable.args === 'string') {
    checkPattern(variable.args, variable, findings);
  }
  visitAll(args, bound, findings);
}

function checkPattern(pattern: string, node: ASTNode, findings: Findings): void {
  try {
    compilePattern(pattern);
  } catch (error) {
    problem(findings, node, 'condition.syntax', error instanceof Error ? error.message : String(error));
  }
}

function problem(findings: Findings, node: ASTNode, code: 'condition.syntax' | 'condition.type', message: string): void {
  findings.problems.push({ path: '', code, message: `${message}, at character ${node.start}` });
}

/** The steps and roots that an expression reads, so that nothing else has to be loaded. */
interface ConditionReferences {
  readonly stepIds: string[];
  readonly roots: string[];
}

/** @throws KilnError `condition.syntax`, also when a step’s id is computed */
export function conditionReferences(text: string): ConditionReferences {
  const { stepIds, roots, problems } = inspect(text);
  const [first] = problems;
  if (first !== undefined) {
    throw new KilnError('condition.syntax', `${first.message}.`, { data: { problems } });
  }
  return { stepIds: [...stepIds], roots: [...roots] };
}

/** Everything that can be known to be wrong before the expression meets values. `expect` is `bool` by default. */
export function checkCondition(text: string, options: { readonly expect?: 'bool' | 'any' } = {}): Problem[] {
  let findings: Findings;
  try {
    findings = inspect(text);
  } catch (error) {
    if (error instanceof KilnError) {
      return [{ path: '', code: error.code, message: error.message }];
    }
    throw error;
  }
  if (findings.problems.length > 0) {
    return findings.problems;
  }
  const { valid, type, error } = environment.check(withStandIn(text, findings.hasAt));
  if (!valid) {
    return [{ path: '', code: 'condition.type', message: described(error).replaceAll(`${HAS_STAND_IN}(`, 'has(') }];
  }
  if ((options.expect ?? 'bool') === 'bool' && type !== 'bool' && type !== 'dyn') {
    return [{ path: '', code: 'condition.type', message: `the expression yields ${type}, but a condition must yield true or false` }];
  }
  return [];
}

function withStandIn(text: string, hasAt: readonly number[]): string {
  let result = text;
  for (const start of hasAt) {
    result = result.slice(0, start) + HAS_STAND_IN + result.slice(start + HAS_STAND_IN.length);
  }
  return result;
}

/**
 * Evaluates an expression to JSON. Ints become numbers, a timestamp ISO text.
 *
 * @param variables by root; `step` maps step ids to outputs; what is absent here is missing
 * @throws KilnError `condition.syntax`, `condition.failed`
 */
export function evaluateExpression(text: string, variables: Readonly<Record<string, Json>>): Json {
  const fuel = new Fuel(FUEL);
  return explained(text, () => toJson(new Evaluation(variables, fuel).run(parse(text)), fuel));
}

/** @throws KilnError as `evaluateExpression`, and `condition.type` when the result is not true or false */
export function evaluateCondition(text: string, variables: Readonly<Record<string, Json>>): boolean {
  const result = evaluateExpression(text, variables);
  if (typeof result !== 'boolean') {
    throw new KilnError('condition.type', `The condition ${clipped(text)} yields ${describe(result)}, but it must yield true or false.`);
  }
  return result;
}

function explained<T>(text: string, evaluate: () => T): T {
  try {
    return evaluate();
  } catch (error) {
    if (error instanceof KilnError && error.code === 'condition.failed') {
      throw new KilnError('condition.failed', `The expression ${clipped(text)} failed: ${error.message}.`, { cause: error });
    }
    throw error;
  }
}

function clipped(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function describe(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}
