import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** The one accent. */
const kiln: MantineColorsTuple = [
  '#f0f4fa',
  '#dfe7f3',
  '#bfcfe7',
  '#9cb4da',
  '#7c9acc',
  '#6283be',
  '#4a6cad',
  '#3a5a9b',
  '#2d4980',
  '#213763',
];

/** Neutrals with a little warmth, so that long lists do not look cold. */
const gray: MantineColorsTuple = [
  '#faf9f7',
  '#f4f2ef',
  '#e9e6e1',
  '#d9d5ce',
  '#bbb6ad',
  '#8f897f',
  '#69635a',
  '#524d46',
  '#393530',
  '#22201d',
];
const dark: MantineColorsTuple = [
  '#dedbd6',
  '#bdb9b2',
  '#a09c95',
  '#757169',
  '#4d4a45',
  '#3b3835',
  '#2c2a28',
  '#1b1a19',
  '#151413',
  '#0f0e0e',
];

export const fontFamily = '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
export const fontFamilyMonospace = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** States of work. They always come with an icon and a word. */
const red: MantineColorsTuple = [
  '#fdf3f2',
  '#f9e0de',
  '#f0bfbb',
  '#e59b95',
  '#da7a72',
  '#cf5f56',
  '#bc443b',
  '#a4352d',
  '#872a24',
  '#6b211c',
];
const green: MantineColorsTuple = [
  '#eff7f1',
  '#dbecdf',
  '#b6d8be',
  '#8fc19b',
  '#6dab7c',
  '#519764',
  '#377a4a',
  '#2b653c',
  '#235231',
  '#1c4127',
];
const yellow: MantineColorsTuple = [
  '#fdf6e7',
  '#faeac6',
  '#f2d28d',
  '#e8b956',
  '#d9a032',
  '#c08718',
  '#96670b',
  '#7a5307',
  '#624205',
  '#4c3404',
];

/** `theme.css` holds the CSS variables that follow from this; a test keeps the two in step. */
export const theme = createTheme({
  colors: { kiln, gray, dark, red, green, yellow },
  primaryColor: 'kiln',
  primaryShade: { light: 7, dark: 6 },
  black: '#22201d',
  defaultRadius: 'md',
  radius: { xs: '0.25rem', sm: '0.375rem', md: '0.5rem', lg: '0.75rem', xl: '1rem' },
  fontFamily,
  fontFamilyMonospace,
  // Three sizes: notes, text, titles.
  fontSizes: { xs: '0.8125rem', sm: '0.9375rem', md: '0.9375rem', lg: '1.375rem', xl: '1.375rem' },
  lineHeights: { xs: '1.45', sm: '1.5', md: '1.5', lg: '1.3', xl: '1.3' },
  headings: { fontFamily, fontWeight: '600' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  autoContrast: true,
});
