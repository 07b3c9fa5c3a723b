/** The address to which a provider sends browsers back. */
export function callbackUrl(baseUrl: string, projectId: string, key: string): string {
  return `${baseUrl.replace(/\/$/, '')}/account/sessions/oauth2/callback/${key}/${projectId}`;
}
