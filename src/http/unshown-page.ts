import type { HtmlPage } from '#src/contract/browser.js';
import type { Failure } from '#src/contract/errors.js';
import { escapeHtml } from '#src/platform/templates/templates.js';

/** Explanations for visitors by status. */
const explanations: Readonly<Record<number, string>> = {
  429: 'There were too many attempts. Wait a few minutes, then try again.',
  503: 'The service is not available right now. Try again in a moment.',
};
const otherwise = 'The address is incomplete or not valid. Go back to the application and try again.';

/** Advice for developers by type of error. */
const fixes: Readonly<Record<string, string>> = {
  project_not_found: 'Set the parameter project of the address to an id that “svc project list” shows.',
  general_argument_invalid:
    'Addresses of the application must be on a platform of the project: svc platform add --project ID --hostname HOST.',
};

/** The page for visitors if a page cannot be shown. `forDevelopers` adds the message of the error and what to do. */
export function unshownPage({ status, type, message }: Failure, nonce: string, forDevelopers: boolean): HtmlPage {
  const fix = fixes[type] ?? '';
  const hint = forDevelopers
    ? `<p class="hint"><b>For developers:</b> ${escapeHtml(`${message} ${fix}`.trim())}</p>`
    : '';
  const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>This page cannot be shown</title>
    <style nonce="${nonce}">
      :root { color-scheme: light dark; --text: #1b1f24; --quiet: #565e6a; --page: #f4f5f7; --card: #fff; --line: #d3d7de; font: 1rem/1.5 system-ui, sans-serif; }
      @media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --quiet: #aab2bd; --page: #14171b; --card: #1e2228; --line: #3a414b; } }
      * { box-sizing: border-box; }
      body { margin: 0; min-height: 100vh; display: grid; place-content: center; grid-template-columns: minmax(0, 27rem); padding: 1rem; color: var(--text); background: var(--page); overflow-wrap: anywhere; }
      main { padding: 2rem 1.75rem; border: 1px solid var(--line); border-radius: 0.875rem; background: var(--card); }
      h1 { margin: 0 0 0.5rem; font-size: 1.375rem; line-height: 1.3; }
      p { margin: 0; }
      .hint { margin-top: 1.25rem; padding-top: 1.25rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: 0.875rem; }
    </style>
  </head>
  <body>
    <main>
      <h1>This page cannot be shown</h1>
      <p>${explanations[status] ?? otherwise}</p>
      ${hint}
    </main>
  </body>
</html>
`;
  return { html, nonce };
}
