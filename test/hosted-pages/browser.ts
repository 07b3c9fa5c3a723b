// A browser without scripts: it fills in forms, keeps cookies and follows redirects, as far as the test lets it.
import assert from 'node:assert/strict';
import type { TestAppliance } from '../harness/appliance.js';

type Fields = Readonly<Record<string, string>>;

const decoded = (text: string) =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (entity) => ({ '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" })[entity] ?? entity,
  );

/** Opens pages of the service under its base URL. */
export function createPlainBrowser(target: TestAppliance, headers: Fields = {}) {
  const base = 'http://localhost:8080';
  const jar = new Map<string, string>();
  let page = { url: new URL(base), html: '', headers: new Headers() };

  const fetchOnce = async (url: URL, init: RequestInit) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url.href.replace(base, target.origin), {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie === '' ? {} : { Cookie: cookie }), ...headers, ...(init.headers as Fields) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  };
  const browser = {
    jar,
    /** The address of the page, and the page. */
    get url() {
      return page.url;
    },
    get html() {
      return page.html;
    },
    get headers() {
      return page.headers;
    },
    /** What the page says went wrong, or has happened. */
    get message(): string {
      return decoded(
        /<p class="(?:error|error alert|notice)"(?: id="[\w-]+")? role="(?:alert|status)">([^<]+)</.exec(
          page.html,
        )?.[1] ?? '',
      );
    },
    get heading(): string {
      return decoded(/<h1>([^<]*)</.exec(page.html)?.[1] ?? '');
    },
    /** Opens an address and follows redirects within the service. */
    open: async (address: string | URL) => {
      let url = new URL(address, page.url);
      let response = await fetchOnce(url, { headers: { Accept: 'text/html' } });
      for (let location = response.headers.get('Location'); location?.startsWith(base); ) {
        url = new URL(location);
        response = await fetchOnce(url, { headers: { Accept: 'text/html' } });
        location = response.headers.get('Location');
      }
      page = { url, html: await response.text(), headers: response.headers };
      assert.equal(response.status, 200, `${url} ${page.html}`);
      return browser;
    },
    /** Sends the first form of the page, or the one named by its action, with its hidden fields; follows the redirect within the service. */
    submit: async (fields: Fields, further: Fields = {}, name = '') => {
      const forms = [...page.html.matchAll(/<form method="post" action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)];
      const [, action = '', body = ''] = forms.find(([, given = '']) => given.startsWith(name)) ?? [];
      const hidden = [...body.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)];
      const url = new URL(decoded(action), page.url);
      const response = await fetchOnce(url, {
        method: 'POST',
        headers: {
          Accept: 'text/html',
          'Content-Type': 'application/x-www-form-urlencoded',
          Origin: base,
          'Sec-Fetch-Site': 'same-origin',
          Referer: page.url.href,
          ...further,
        },
        body: new URLSearchParams({
          ...Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, decoded(value)])),
          ...fields,
        }),
      });
      const location = new URL(response.headers.get('Location') ?? url, url);
      if (response.status === 302 && location.origin === base)
        return { response, location, ...(await browser.open(location)) };
      // A refused form is shown again in the answer, and some forms are answered with a page.
      if (response.status !== 302) page = { url, html: await response.text(), headers: response.headers };
      return { response, location };
    },
  };
  return browser;
}
