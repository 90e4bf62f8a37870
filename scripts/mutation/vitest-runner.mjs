import { strykerPlugins as found, strykerValidationSchema } from '@stryker-mutator/vitest-runner';

/**
 * Stryker's runner for Vitest, as Vitest 5 needs it: it names tests in another way, so that Stryker's filter by name would skip
 * them all and every mutant would survive. Whole files that reach a mutant are run instead.
 */
const [vitest] = found;

function create(injector) {
  const runner = vitest.factory(injector);
  const run = runner.mutantRun.bind(runner);
  const files = (tests) => [...new Set(tests.map((id) => `${id.slice(0, id.indexOf('#'))}#`))];
  runner.mutantRun = (options) => run({ ...options, testFilter: options.testFilter === undefined ? undefined : files(options.testFilter) });
  return runner;
}
create.inject = vitest.factory.inject;

export const strykerPlugins = [{ ...vitest, factory: create }];
export { strykerValidationSchema };
