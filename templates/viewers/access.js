// What both pages need of the service: the project, and the server key in the bar, which is kept in the memory of the tab only.

const { project, projectHeader, keyHeader } = document.body.dataset;
const form = document.getElementById('access');
const field = document.getElementById('key');
const state = document.getElementById('state');

export { project };

/** The server key; empty if there is none. */
export const serverKey = () => field.value.trim();

/** The headers of a request. */
export function headersOf(more = {}) {
  const key = serverKey();
  return { [projectHeader]: project, ...(key === '' ? {} : { [keyHeader]: key }), ...more };
}

/** A request has one credential: with a key, the cookie of a login is not sent. */
export const credentials = () => (serverKey() === '' ? 'same-origin' : 'omit');

/** Gets JSON of the service, by its path below /v1, as text. Throws an error with the message of the service. */
export async function get(path) {
  const response = await fetch(path, { headers: headersOf(), credentials: credentials() });
  const text = await response.text();
  if (!response.ok) throw new Error(messageOf(text) ?? `the service answered ${response.status}`);
  return text;
}

function messageOf(text) {
  try {
    return JSON.parse(text).message;
  } catch {
    return undefined;
  }
}

/** Says in the bar how it went: `loading`, `read` with the key in use, or `failed`. */
export function say(result, text = '') {
  state.dataset.state = result;
  state.textContent = text;
}

/** Calls this function when another key is used. */
export function onKey(act) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    act();
  });
  field.addEventListener('change', act);
}
