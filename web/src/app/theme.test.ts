import { convertCssVariables, defaultCssVariablesResolver, DEFAULT_THEME, mergeMantineTheme } from '@mantine/core';
import { expect, test } from 'vitest';
import { theme } from './theme.ts';

type Variables = Record<string, string>;

function changed(ours: Variables, theirs: Variables): Variables {
  return Object.fromEntries(Object.entries(ours).filter(([name, value]) => theirs[name] !== value));
}

/**
 * Mantine would put these variables into a style tag at run time, which the content security policy forbids.
 * After a change of the theme: `npx vitest run web/src/app/theme.test.ts -u`.
 */
test('theme.css holds what Mantine derives from the theme', async () => {
  const ours = defaultCssVariablesResolver(mergeMantineTheme(DEFAULT_THEME, theme));
  const theirs = defaultCssVariablesResolver(DEFAULT_THEME);
  const css = convertCssVariables({
    variables: changed(ours.variables, theirs.variables),
    light: { ...changed(ours.light, theirs.light), '--mantine-color-scheme': 'light' },
    dark: { ...changed(ours.dark, theirs.dark), '--mantine-color-scheme': 'dark' },
  });
  const lines = css
    .replaceAll('{', ' {\n  ')
    .replaceAll(/;(?=[^}])/g, ';\n  ')
    .replaceAll(';}', ';\n}\n')
    .trim();
  expect(Object.keys(ours.variables).length).toBeGreaterThan(50);
  await expect(`/* Derived from theme.ts; theme.test.ts keeps it so. */\n${lines}\n`).toMatchFileSnapshot('./theme.css');
});
