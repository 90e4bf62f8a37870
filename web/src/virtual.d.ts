declare module 'virtual:step-schemas' {
  import type { Schemas } from './editor/completions.ts';
  const schemas: Schemas;
  export default schemas;
}
