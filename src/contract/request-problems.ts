/** A problem of a request: an invalid parameter or setting, an absent parameter, or a problem of the whole request. */
export type RequestProblem =
  | {
      readonly kind: 'param' | 'setting';
      readonly name: string;
      /** A predicate such as "must be a text", or a sentence. */
      readonly problem: string;
    }
  | {
      readonly kind: 'absent';
      readonly name: string;
      /** Why it is needed, as a sentence. */
      readonly reason?: string;
    }
  | { readonly kind: 'request'; readonly sentence: string };

/** Prints a problem for clients of the API. */
function inApiWords(problem: RequestProblem): string {
  switch (problem.kind) {
    case 'request':
      return problem.sentence;
    case 'absent':
      return `Param "${problem.name}" is not optional${problem.reason === undefined ? '.' : `: ${problem.reason}`}`;
    default:
      return `Invalid \`${problem.name}\` ${problem.kind}: ${problem.problem}`;
  }
}

/** Prints problems as one message, with only one full stop at the end. */
export function printProblems(problems: readonly RequestProblem[], print = inApiWords): string {
  const texts = problems.map((problem) => print(problem));
  return texts.map((text, at) => (at < texts.length - 1 && text.endsWith('.') ? text.slice(0, -1) : text)).join('; ');
}
