/**
 * An exec plugin of kubectl: signs in at an OpenID provider as a browser does, by the authorization code flow, and
 * prints the ID token. Arguments: issuer, file of the provider's authority, user.
 */
import { readFileSync } from "node:fs"
import { CLIENT } from "./openid-provider.ts"

const [issuer = "", caFile = "", user = ""] = process.argv.slice(2)
const tls = { ca: readFileSync(caFile, "utf8") }
const cookies = new Map<string, string>()

/** Follows redirects, up to the one to the client. Resolves to the last address. */
async function go(first: string, form?: Readonly<Record<string, string>>): Promise<string> {
  let [url, body] = [first, form && new URLSearchParams(form)]
  for (;;) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const answer = await fetch(url, {
      redirect: "manual",
      tls,
      headers: { cookie },
      ...(body === undefined ? {} : { method: "POST", body }),
    })
    for (const text of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      cookies.set(name, value)
    }
    const location = answer.headers.get("location")
    if (location === null) return url
    url = new URL(location, url).href
    if (url.startsWith(CLIENT.callback)) return url
    body = undefined
  }
}

const query = new URLSearchParams({
  client_id: CLIENT.id,
  response_type: "code",
  scope: "openid email groups",
  redirect_uri: CLIENT.callback,
})
const login = await go(`${issuer}/auth?${query.toString()}`)
const consent = await go(login, { prompt: "login", login: user, password: "any" })
const { searchParams } = new URL(await go(consent, { prompt: "consent" }))
const answer = await fetch(`${issuer}/token`, {
  method: "POST",
  tls,
  body: new URLSearchParams({
    grant_type: "authorization_code",
    code: searchParams.get("code")!,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    redirect_uri: CLIENT.callback,
  }),
})
const { id_token: token } = (await answer.json()) as { readonly id_token: string }
const apiVersion = "client.authentication.k8s.io/v1beta1"
console.log(JSON.stringify({ apiVersion, kind: "ExecCredential", status: { token } }))
