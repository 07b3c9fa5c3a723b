/** The URL that a provider redirects browsers back to. */
export function callbackUrl(baseUrl: string, projectId: string, key: string): string {
  return `${baseUrl.replace(/\/$/, '')}/account/sessions/oauth2/callback/${key}/${projectId}`;
}
