/** Who the users are, as whom they may act, and which paths they may ask for without rights. */
import { type Sent, IN, get, whoami } from "./sent.ts"

export const USERS: readonly Sent[] = (
  [
    "admin",
    "nobody",
    "token jane",
    "token john",
    "token #hash",
    "token unknown",
    "token of no form",
    "basic password",
    "lower-case bearer",
    "certificate carl",
    "certificate of a node",
    "certificate without name",
    "certificate and token",
    "certificate and wrong token",
    "proxied paula",
    "proxied with all",
    "proxied without user",
    "proxied, and a token",
    "proxied by another proxy",
    "headers without proxy",
    "provider's jane",
    "provider's groups as one text",
    "provider's groups as a number",
    "provider's expired token",
    "provider's token of the future",
    "provider's token for others",
    "provider's token without claim",
    "provider's token without name",
    "provider's token by another key",
    "expressed eve",
    "expressed with all",
    "expressed without address",
    "expressed with unverified address",
    "expressed root",
    "expressed with a group of the system",
    "expressed with an empty tenant",
    "webhook's jane",
    "webhook's plain",
    "webhook's for another audience",
    "webhook's refused",
    "webhook's nameless",
    "webhook's failure",
    "service-account",
    "service-account for others",
  ] as const
).map((user) => whoami(user))

export const IMPERSONATED: readonly Sent[] = [
  whoami("admin", " as mary", { "Impersonate-User": "mary" }),
  whoami("admin", " as mary with all", {
    "Impersonate-User": "mary",
    "Impersonate-Group": ["g1", "g2"],
    "Impersonate-Uid": "42",
    "Impersonate-Extra-Team": ["red", "blue"],
    "Impersonate-Extra-Acme.com%2fScope": "x",
  }),
  whoami("admin", " as an account", { "Impersonate-User": "system:serviceaccount:compared:default" }),
  whoami("admin", " as nobody", { "Impersonate-User": "system:anonymous" }),
  whoami("admin", " as a node", { "Impersonate-User": "system:node:n1", "Impersonate-Group": "system:nodes" }),
  whoami("admin", " as a group alone", { "Impersonate-Group": "g1" }),
  whoami("admin", " as a uid alone", { "Impersonate-Uid": "42" }),
  whoami("admin", " as extra alone", { "Impersonate-Extra-Team": "red" }),
  whoami("admin", " as an empty user", { "Impersonate-User": "" }),
  whoami("token john", " as mary", { "Impersonate-User": "mary" }),
  whoami("token john", " as mark", { "Impersonate-User": "mark" }),
  whoami("token john", " as mary of g1", { "Impersonate-User": "mary", "Impersonate-Group": "g1" }),
  whoami("token john", " as mary of g2", { "Impersonate-User": "mary", "Impersonate-Group": "g2" }),
  whoami("token john", " as mary with uid 42", { "Impersonate-User": "mary", "Impersonate-Uid": "42" }),
  whoami("token john", " as mary with uid 43", { "Impersonate-User": "mary", "Impersonate-Uid": "43" }),
  whoami("token john", " as mary in team red", { "Impersonate-User": "mary", "Impersonate-Extra-Team": "red" }),
  whoami("token john", " as mary in team blue", { "Impersonate-User": "mary", "Impersonate-Extra-Team": "blue" }),
  whoami("token john", " as an account", { "Impersonate-User": "system:serviceaccount:compared:default" }),
  whoami("token jane", " as mary", { "Impersonate-User": "mary" }),
  whoami("nobody", " as mary", { "Impersonate-User": "mary" }),
  {
    ...get("mary reads by john", "token john", `${IN}/configmaps/absent`),
    headers: { "Impersonate-User": "mary" },
  },
  {
    ...get("mary may not read secrets by john", "token john", `${IN}/secrets`),
    headers: { "Impersonate-User": "mary" },
  },
]

export const PATHS: readonly Sent[] = (
  ["nobody", "token john", "certificate carl", "webhook's plain", "token unknown"] as const
).flatMap((user) =>
  [
    "/livez",
    "/version",
    "/healthz",
    "/healthz/ping",
    "/metrics",
    "/api",
    "/apis",
    "/openapi/v2",
    "/absent",
    "/api/v1/nodes",
  ]
    .filter((path) => !(path.startsWith("/openapi") || path === "/metrics") || user !== "token unknown")
    .map((path) => get(`${user} asks for ${path}`, user, path)),
)
