type Bindable<First> = Readonly<Record<string, (first: First, ...rest: never[]) => unknown>>;

/** The functions without their first parameter. */
type Bound<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (first: never, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

/**
 * Calls functions of a module with the same first argument, such as the dependencies of a service or the SQL of a store. Type parameters of
 * functions are lost: bind generic functions by hand.
 */
export function bind<First, Functions extends Bindable<First>>(first: First, functions: Functions): Bound<Functions> {
  const entries = Object.entries(functions).map(([name, run]) => [name, run.bind(undefined, first)]);
  return Object.fromEntries(entries) as Bound<Functions>;
}
