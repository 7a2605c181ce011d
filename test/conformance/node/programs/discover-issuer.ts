/**
 * Checks a pod's token as a relying party would: by the keys that the issuer's discovery document leads to, asked for
 * at the API server's name in the cluster. Prints `completed: <subject>`.
 */
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from "jose"
import { readFileSync } from "node:fs"

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
const ca = readFileSync(`${ACCOUNT}/ca.crt`, "utf8")
const authorization = `Bearer ${readFileSync(`${ACCOUNT}/token`, "utf8")}`
const token = readFileSync("/var/run/secrets/tokens/sa-token", "utf8")
const get = async (path: string) => {
  const answer = await fetch(`https://kubernetes.default.svc${path}`, { headers: { authorization }, tls: { ca } })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}
const { iss: issuer = "" } = decodeJwt(token)
const document = (await get("/.well-known/openid-configuration")) as { issuer: string; jwks_uri: string }
if (document.issuer !== issuer) throw new Error(`${document.issuer} is not the token's issuer ${issuer}`)
const keys = (await get(new URL(document.jwks_uri).pathname)) as JSONWebKeySet
const { payload } = await jwtVerify(token, createLocalJWKSet(keys), { issuer, audience: "oidc-discovery-test" })
console.log(`completed: ${payload.sub}`)
