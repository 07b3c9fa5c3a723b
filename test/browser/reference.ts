// What tests and pictures do on the pages for developers.
import type { Page } from 'playwright-core';

/** Opens one of the pages, enters the server key, and waits until the page has read the collections of the project. */
export async function openWithKey(page: Page, address: string, secret: string): Promise<void> {
  await page.goto(address);
  await page.fill('#key', secret);
  await page.locator('#access button').click();
  await page.locator('#state[data-state="read"]').waitFor({ state: 'attached' });
}

/** Replaces the query in GraphiQL by typing. */
export async function typeIn(page: Page, query: string): Promise<void> {
  await page.locator('.graphiql-query-editor .view-lines').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.type(query);
}
