/** What starts runs of a code workflow, as its code declares it. */
export type TriggerDeclaration =
  /** A run for each event of the name. */
  | {
      readonly kind: 'event';
      readonly event: string;
      /** CEL over `event`: only events for which it is true. */
      readonly match?: string;
    }
  /** A run for each delivery at a hook of the workflow whose signature is right. */
  | {
      readonly kind: 'webhook';
      readonly scheme: { readonly kind: string };
      /** Only deliveries with one of these event names. */
      readonly events?: readonly string[];
    }
  /**
   * A run for each occurrence. In the hour that daylight saving skips, an occurrence runs once, right after it; in the hour that
   * it repeats, it runs once.
   */
  | {
      readonly kind: 'schedule';
      readonly cron: string;
      readonly timeZone: string;
      /** What happens while the run of an earlier occurrence is not over: leave the new one out, wait, or run beside it. */
      readonly overlap: 'skip' | 'queue' | 'parallel';
      /** Whose runs they are: one for each of these accounts. */
      readonly accounts: readonly string[];
    }
  /** A run for each document created at a path of the team's own data, such as `orders/{orderId}`. */
  | { readonly kind: 'document'; readonly path: string }
  /** Started by a person, by the API or by another workflow. */
  | { readonly kind: 'manual' };

/** A trigger and the workflow whose runs it starts. */
export interface DeclaredTrigger {
  readonly workflowId: string;
  readonly trigger: TriggerDeclaration;
}
