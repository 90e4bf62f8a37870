/** Tokens of one provider call. `inputTokens` includes the cached ones, `outputTokens` the reasoning ones, as providers bill them. */
export interface Usage {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

interface Rates {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

interface Price extends Rates {
  /** Other rates for the whole call once its input is longer than this. */
  readonly long?: Rates & { readonly overInputTokens: number };
}

/** USD per million tokens. */
export type PriceTable = Readonly<Record<string, Price>>;

const price = (input: number, cachedInput: number, output: number): Price => ({ input, cachedInput, output });

/**
 * OpenAI list prices for standard processing: most as recorded by the LiteLLM project (model_prices_and_context_window.json, 2026),
 * the small ones as found in other public repositories. Prices change: compare with https://openai.com/api/pricing before you trust
 * a total, and hand `cost` a table of your own for other providers or negotiated rates.
 */
export const prices: PriceTable = {
  'gpt-5.6': { ...price(5, 0.5, 30), long: { overInputTokens: 272_000, ...price(10, 1, 45) } },
  'gpt-5.6-sol': { ...price(5, 0.5, 30), long: { overInputTokens: 272_000, ...price(10, 1, 45) } },
  'gpt-5.6-terra': { ...price(2.5, 0.25, 15), long: { overInputTokens: 272_000, ...price(5, 0.5, 22.5) } },
  'gpt-5.6-luna': { ...price(1, 0.1, 6), long: { overInputTokens: 272_000, ...price(2, 0.2, 9) } },
  'gpt-5.5': { ...price(5, 0.5, 30), long: { overInputTokens: 272_000, ...price(10, 1, 45) } },
  'gpt-5.2': price(1.75, 0.175, 14),
  'gpt-5.1': price(1.25, 0.125, 10),
  'gpt-5': price(1.25, 0.125, 10),
  'gpt-5-mini': price(0.25, 0.025, 2),
  'gpt-5-nano': price(0.05, 0.005, 0.4),
  'gpt-4.1': price(2, 0.5, 8),
  'gpt-4.1-mini': price(0.4, 0.1, 1.6),
  'gpt-4.1-nano': price(0.1, 0.025, 0.4),
  'gpt-4o': price(2.5, 1.25, 10),
  'gpt-4o-2024-05-13': price(5, 5, 15),
  'gpt-4o-mini': price(0.15, 0.075, 0.6),
  'text-embedding-3-small': price(0.02, 0.02, 0),
  'text-embedding-3-large': price(0.13, 0.13, 0),
};

/**
 * What a call cost in millionths of a US dollar, rounded; undefined for a model without a price (never a silent 0).
 * A dated model (`gpt-5-mini-2025-08-07`) has the price of its undated name unless it is listed itself.
 */
export function cost(usage: Usage, model: string, table: PriceTable = prices): number | undefined {
  const undated = model.replace(/-\d{4}-\d{2}-\d{2}$/, '');
  const found = Object.hasOwn(table, model) ? table[model] : Object.hasOwn(table, undated) ? table[undated] : undefined;
  if (found === undefined) return undefined;
  const rates = found.long !== undefined && usage.inputTokens > found.long.overInputTokens ? found.long : found;
  const fresh = usage.inputTokens - usage.cachedInputTokens;
  // Dollars per million tokens are millionths of a dollar per token.
  return Math.round(fresh * rates.input + usage.cachedInputTokens * rates.cachedInput + usage.outputTokens * rates.output);
}
