/** An address with these parameters in its query; further ones of the caller's stay as they are. */
export function linkTo(address: URL, parameters: Readonly<Record<string, string>>): string {
  const link = new URL(address);
  for (const name of Object.keys(parameters)) if (link.searchParams.has(name)) link.searchParams.delete(name);
  const added = new URLSearchParams(parameters).toString();
  link.search = link.search === '' ? added : `${link.search}&${added}`;
  return link.href;
}
