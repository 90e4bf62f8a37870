import { MutantRunStatus } from '@stryker-mutator/api/test-runner';
import { strykerPlugins as found, strykerValidationSchema } from '@stryker-mutator/vitest-runner';

/**
 * Stryker's runner for Vitest, as Vitest 5 needs it: it names tests in another way, so that Stryker's filter by name would skip
 * them all and every mutant would survive. Whole files that reach a mutant are run instead. And a mutant with which a test file
 * cannot even be loaded is noticed: without any test of it, Stryker would count that as survived.
 */
const [vitest] = found;

function create(injector) {
  const runner = vitest.factory(injector);
  const run = runner.mutantRun.bind(runner);
  const files = (tests) => [...new Set(tests.map((id) => `${id.slice(0, id.indexOf('#'))}#`))];
  runner.mutantRun = async (options) => {
    const result = await run({ ...options, testFilter: options.testFilter === undefined ? undefined : files(options.testFilter) });
    const broken =
      result.status === MutantRunStatus.Survived ? runner.ctx.state.getFiles().find((file) => file.result?.state === 'fail') : undefined;
    if (broken === undefined) return result;
    return {
      status: MutantRunStatus.Killed,
      killedBy: [],
      failureMessage: broken.result.errors?.[0]?.message ?? 'a test file failed',
      nrOfTests: 0,
    };
  };
  return runner;
}
create.inject = vitest.factory.inject;

export const strykerPlugins = [{ ...vitest, factory: create }];
export { strykerValidationSchema };
