/** `npm run build`: what a deployment uploads. */
import { FUNCTIONS, WEB, build, isThere } from './build/artifact.ts';
import { stopChildrenOnSignal } from './process/child.ts';
import { step } from './progress.ts';

export async function buildAll(): Promise<void> {
  const note = (built: boolean): string => (built ? 'built' : 'up to date');
  const artifacts = [FUNCTIONS, WEB].filter(isThere);
  await Promise.all(artifacts.map((artifact) => step(`Building ${artifact.name}`, () => build(artifact), note)));
}

if (import.meta.main) {
  stopChildrenOnSignal();
  await buildAll();
}
