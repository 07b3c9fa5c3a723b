// The hosted pages in Chromium, with an authenticator of the browser's own.

import type { TestContext } from 'node:test';
import type { BrowserContext, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { startAppliance, type TestAppliance } from '../harness/appliance.js';
import { openChromium } from '../harness/browser.js';
import { freePort } from '../harness/free-port.js';

/** What a test of the hosted pages works with. */
interface HostedScene {
  readonly service: TestAppliance;
  /** `http://localhost:PORT/v1`. */
  readonly endpoint: string;
  /** A browser without any past. */
  fresh(options?: BrowserContextOptions): Promise<BrowserContext>;
}

/** A service on localhost, and a browser. */
export async function hostedScene(
  t: TestContext,
  act: (scene: HostedScene) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const chromium = await openChromium(t);
  if (chromium === undefined) return;
  try {
    const port = await freePort();
    const endpoint = `http://localhost:${port}/v1`;
    const service = await startAppliance({ settings: { ...settings, SVC_BASE_URL: endpoint, SVC_PORT: String(port) } });
    await act({ service, endpoint, fresh: (options) => chromium.newContext(options) });
  } finally {
    await chromium.close();
  }
}

/** Gives the browser a platform authenticator that verifies its user. */
export async function withAuthenticator(page: Page, isUserVerified = true): Promise<CDPSession> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified,
      automaticPresenceSimulation: true,
    },
  });
  return cdp;
}
