/** Sets the colour scheme before the first paint; Mantine keeps it afterwards under the same name. */
export function startColorScheme(): void {
  const stored = localStorage.getItem('mantine-color-scheme-value');
  const dark = stored === 'dark' || (stored !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset['mantineColorScheme'] = dark ? 'dark' : 'light';
}
