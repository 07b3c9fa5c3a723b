// What the log of the server must not hold.

const below =
  /\bselect .+ from\b|\binsert into\b|\bupdate \S+ set\b|\bdelete from\b|\bSQLITE_[A-Z]+: |syntax error at or near/i;

/** What is wrong with a log of JSON lines, each kind once. */
export function logProblems(text: string): string[] {
  const found = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const problem = lineProblem(line);
    if (problem !== undefined && !found.has(problem)) found.set(problem, line);
  }
  return [...found].map(([problem, line]) => `the log: ${problem}\n${line.slice(0, 1000)}`);
}

function lineProblem(line: string): string | undefined {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return `a line that is no JSON: ${line.slice(0, 80)}`;
  }
  const { event, error, stack } = entry;
  if (event === 'request.unanswered') return 'a request was left unanswered';
  if (typeof stack === 'string' && stack !== '') return `a stack, ${error} in ${stack.split('\n')[0]?.trim()}`;
  if (below.test(line)) return `SQL in ${event}`;
  if (entry.level === 'error') return `an error, ${event} ${error ?? ''}`;
  return undefined;
}
