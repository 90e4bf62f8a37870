/** What must hold after every operation, or at the end. The names stand in the published table of planted bugs. */
export const invariants = [
  'a terminal step never changes',
  'a terminal run never changes',
  'only legal transitions',
  'one accepted result for each attempt',
  'only the holder of the lease records a result',
  'no live lease is taken away',
  'a doorbell is armed before its commit',
  'an early ring comes again',
  'what comes in is taken up in time',
  'a request starts one run',
  'nothing is acted on before its time',
  'nothing starts after the run ended',
  'a pause is respected',
  'everything that waits has a waker',
  'a join fires when its lanes have ended',
  'a container takes nothing in after its end',
  'an approval has one outcome',
  'a decision in time counts',
  'a decision too late does not count',
  'the run follows the approval',
  'an event is used once in a run',
  'an event in time is not lost',
  'a parent takes over its child’s result',
  'one effect, one input',
  'an unknown outcome is never silently repeated',
  'nothing crosses an account’s border',
  'the end of a run is announced once',
  'a command’s answer is what happened',
  'counters are right',
  'writes are bounded',
  'everything ends',
  'nothing is left over',
  'the outcome is what the oracle says',
] as const;
export type Invariant = (typeof invariants)[number];

export class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: Invariant;

  constructor(invariant: Invariant, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}
