import type { Json } from './json.ts';
import type { Problem } from './problem.ts';
import { checkAssertions, checkKeys, textOf } from './schema-assertions.ts';
import { compileSchema } from './schema-compiled.ts';
import type { CompiledSchema } from './schema-compiled.ts';
import { isSchemaObject } from './schema-shape.ts';
import type { Schema, SchemaObject, SchemaShape } from './schema-shape.ts';
import { distance, fail, merge, wantsMore } from './schema-target.ts';
import type { Evaluated, JsonObject, Place, Sink, Target } from './schema-target.ts';

const ALTERNATIVES_EXPLAINED = 10;
const EXPLANATIONS_MAX = 50;
/** Under a second; enough for a value of 8 MiB under a plain schema. */
const WORK_MAX = 1_500_000;
const NESTING_MAX = 1_000;

/** Thrown when checking would take too long; it leaves the validator at once, whatever alternative is being tried. */
export class TooMuchWork extends Error {}

/** Applies a JSON Schema (draft 2020-12) to a value, by interpretation, within a bounded amount of work. For one value each. */
export class SchemaValidator {
  readonly #shape: SchemaShape;
  readonly #compiled = new Map<SchemaObject, CompiledSchema>();
  #work = 0;
  #nesting = 0;
  #explanations = 0;

  constructor(shape: SchemaShape) {
    this.#shape = shape;
  }

  validate(schema: Schema, value: Json): Problem[] {
    const problems: Problem[] = [];
    this.#check(schema, value, null, problems, null);
    return problems;
  }

  /** A field, because it is handed on. */
  readonly #spend = (amount: number): void => {
    this.#work += amount;
    if (this.#work > WORK_MAX) {
      throw new TooMuchWork();
    }
  };

  #compile(schema: SchemaObject): CompiledSchema {
    const known = this.#compiled.get(schema);
    if (known !== undefined) {
      return known;
    }
    const compiled = compileSchema(schema, this.#spend);
    this.#compiled.set(schema, compiled);
    return compiled;
  }

  /** True when the value matches. `outer` receives what was evaluated, if it does. */
  #check(raw: Schema, value: Json, place: Place | null, sink: Sink, outer: Evaluated | null): boolean {
    this.#spend(1);
    if (typeof raw === 'boolean') {
      return raw || fail(sink, place, 'is not allowed here');
    }
    this.#nesting += 1;
    if (this.#nesting > NESTING_MAX) {
      throw new TooMuchWork();
    }
    const schema = this.#compile(raw);
    const evaluated: Evaluated | null = this.#shape.tracksEvaluation ? { properties: new Set(), items: new Set() } : null;
    const target: Target = { value, place, sink, evaluated, spend: this.#spend };
    let matches = checkAssertions(schema, target);
    if (schema.inPlace !== null && (matches || wantsMore(sink))) {
      matches = this.#checkInPlace(schema.inPlace, target) && matches;
    }
    if (matches || wantsMore(sink)) {
      matches = this.#checkParts(schema, target) && matches;
    }
    this.#nesting -= 1;
    if (matches && evaluated !== null && outer !== null) {
      this.#spend((evaluated.properties.size + evaluated.items.size) / 4);
      merge(outer, evaluated);
    }
    return matches;
  }

  #checkParts(schema: CompiledSchema, target: Target): boolean {
    const { value } = target;
    if (Array.isArray(value)) {
      return schema.list === null || this.#checkList(schema, schema.list, value, target);
    }
    return schema.object === null || !isSchemaObject(value) || this.#checkObject(schema, schema.object, value, target);
  }

  #checkInPlace(rules: NonNullable<CompiledSchema['inPlace']>, target: Target): boolean {
    const { value, place, sink, evaluated } = target;
    let matches = true;
    if (rules.reference !== null) {
      matches = this.#check(this.#shape.references.get(rules.reference) ?? false, value, place, sink, evaluated);
    }
    for (const part of rules.allOf) {
      matches = this.#check(part, value, place, sink, evaluated) && matches;
    }
    if (rules.not !== undefined && this.#check(rules.not, value, place, null, null)) {
      matches = fail(sink, place, 'matches what it must not match');
    }
    if (rules.if !== undefined) {
      const chosen = this.#check(rules.if, value, place, null, evaluated) ? rules.then : rules.else;
      matches = (chosen === undefined || this.#check(chosen, value, place, sink, evaluated)) && matches;
    }
    matches = (rules.anyOf.length === 0 || this.#checkAnyOf(rules.anyOf, target)) && matches;
    return (rules.oneOf.length === 0 || this.#checkOneOf(rules.oneOf, target)) && matches;
  }

  #checkAnyOf(alternatives: readonly Schema[], target: Target): boolean {
    const { value, place, sink, evaluated } = target;
    let found = false;
    for (const part of alternatives) {
      found = this.#check(part, value, place, null, evaluated) || found;
      // What the others evaluate matters only when somebody asks for it.
      if (found && evaluated === null) break;
    }
    return found || this.#explain(alternatives, target) || fail(sink, place, `matches none of the ${alternatives.length} alternatives`);
  }

  #checkOneOf(alternatives: readonly Schema[], target: Target): boolean {
    const { value, place, sink, evaluated } = target;
    let count = 0;
    for (const part of alternatives) {
      count += this.#check(part, value, place, null, evaluated) ? 1 : 0;
    }
    if (count === 0) {
      return this.#explain(alternatives, target) || fail(sink, place, `matches none of the ${alternatives.length} alternatives`);
    }
    return count === 1 || fail(sink, place, `matches ${count} alternatives, but must match one`);
  }

  /** Adds the problems of the alternative that comes nearest; always false. Each costs as much as the check itself, so there are few. */
  #explain(alternatives: readonly Schema[], { value, place, sink }: Target): false {
    this.#explanations += 1;
    if (sink === null || !wantsMore(sink) || this.#explanations > EXPLANATIONS_MAX) {
      return false;
    }
    let nearest: Problem[] = [];
    for (const [index, part] of alternatives.slice(0, ALTERNATIVES_EXPLAINED).entries()) {
      const problems: Problem[] = [];
      this.#check(part, value, place, problems, null);
      if (index === 0 || distance(problems, place) < distance(nearest, place)) {
        nearest = problems;
      }
    }
    sink.push(...nearest);
    return false;
  }

  #checkList(schema: CompiledSchema, rules: NonNullable<CompiledSchema['list']>, list: readonly Json[], target: Target): boolean {
    const { place, sink, evaluated } = target;
    const described = rules.items === undefined ? Math.min(rules.prefix.length, list.length) : list.length;
    let matches = true;
    for (let index = 0; index < described && (matches || wantsMore(sink)); index += 1) {
      matches =
        this.#check(rules.prefix[index] ?? rules.items ?? true, list[index] ?? null, { outer: place, key: index }, sink, null) && matches;
      evaluated?.items.add(index);
    }
    if (rules.contains !== undefined) {
      matches = this.#checkContains(schema, rules.contains, list, target) && matches;
    }
    if (rules.unique && (matches || wantsMore(sink))) {
      matches = this.#checkUnique(list, target) && matches;
    }
    if (rules.unevaluated !== undefined && evaluated !== null) {
      for (const [index, item] of list.entries()) {
        if (!evaluated.items.has(index)) {
          matches = this.#check(rules.unevaluated, item, { outer: place, key: index }, sink, null) && matches;
          evaluated.items.add(index);
        }
      }
    }
    return matches;
  }

  #checkContains({ source }: CompiledSchema, wanted: Schema, list: readonly Json[], { place, sink, evaluated }: Target): boolean {
    let count = 0;
    for (const [index, item] of list.entries()) {
      if (this.#check(wanted, item, null, null, null)) {
        count += 1;
        evaluated?.items.add(index);
      }
    }
    const least = typeof source['minContains'] === 'number' ? source['minContains'] : 1;
    const most = typeof source['maxContains'] === 'number' ? source['maxContains'] : Number.POSITIVE_INFINITY;
    return (count >= least && count <= most) || fail(sink, place, `has ${count} items of the kind that "contains" describes`);
  }

  #checkUnique(list: readonly Json[], { place, sink }: Target): boolean {
    const scalars = new Set<Json>();
    const texts = new Set<string>();
    for (const [index, item] of list.entries()) {
      this.#spend(1);
      const isContainer = typeof item === 'object' && item !== null;
      const text = isContainer ? textOf(item, this.#spend) : '';
      if (isContainer ? texts.has(text) : scalars.has(item)) {
        return fail(sink, place, `has an item at ${index} that it already has before`);
      }
      if (isContainer) {
        texts.add(text);
      } else {
        scalars.add(item);
      }
    }
    return true;
  }

  #checkObject(schema: CompiledSchema, rules: NonNullable<CompiledSchema['object']>, object: JsonObject, target: Target): boolean {
    const { place, sink, evaluated } = target;
    const keys = Object.keys(object);
    this.#spend(keys.length / 4);
    let matches = checkKeys(schema, object, keys.length, target);
    const looksAtAll = rules.names !== undefined || rules.additional !== undefined || rules.patterns.length > 0;
    for (const key of looksAtAll ? keys : rules.properties.keys()) {
      if (!matches && !wantsMore(sink)) {
        return false;
      }
      if (looksAtAll || Object.hasOwn(object, key)) {
        matches = this.#checkProperty(rules, key, object[key] ?? null, target) && matches;
      }
    }
    for (const [key, part] of rules.dependentSchemas) {
      if (Object.hasOwn(object, key)) {
        matches = this.#check(part, target.value, place, sink, evaluated) && matches;
      }
    }
    return (rules.unevaluated === undefined || this.#checkUnevaluated(rules.unevaluated, object, keys, target)) && matches;
  }

  #checkProperty(rules: NonNullable<CompiledSchema['object']>, key: string, value: Json, { place, sink, evaluated }: Target): boolean {
    const inside = { outer: place, key };
    const property = rules.properties.get(key);
    let matches = rules.names === undefined || this.#check(rules.names, key, inside, sink, null);
    let described = property !== undefined;
    if (property !== undefined) {
      matches = this.#check(property, value, inside, sink, null) && matches;
    }
    for (const [pattern, part] of rules.patterns) {
      if (pattern.test(key, this.#spend)) {
        described = true;
        matches = this.#check(part, value, inside, sink, null) && matches;
      }
    }
    if (!described && rules.additional !== undefined) {
      described = true;
      matches = this.#checkOther(rules.additional, value, inside, sink) && matches;
    }
    if (described) {
      evaluated?.properties.add(key);
    }
    return matches;
  }

  #checkOther(schema: Schema, value: Json, place: Place, sink: Sink): boolean {
    return schema === false ? fail(sink, place, 'is not a known property') : this.#check(schema, value, place, sink, null);
  }

  #checkUnevaluated(schema: Schema, object: JsonObject, keys: readonly string[], { place, sink, evaluated }: Target): boolean {
    let matches = true;
    for (const key of keys) {
      if (evaluated !== null && !evaluated.properties.has(key)) {
        matches = this.#checkOther(schema, object[key] ?? null, { outer: place, key }, sink) && matches;
        evaluated.properties.add(key);
      }
    }
    return matches;
  }
}
