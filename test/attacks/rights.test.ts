import { afterAll, beforeAll, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { type ClientHttp2Session, connect } from "node:http2"
import { join } from "node:path"
import { startServer, type TestServer } from "../harness/server.ts"
import { type Identities, type Identity, type IdentityName, makeIdentities, NAMESPACE } from "./identities.ts"

const OTHER_NAMESPACE = "default"
/** A name that no object has: an allowed request finds nothing, and a refused one is refused before that. */
const NOBODY = "nobody"
/** The number of concurrent requests of one identity; the server would refuse more. */
const AT_ONCE = 64

const VERBS = {
  g: "get",
  l: "list",
  w: "watch",
  c: "create",
  u: "update",
  p: "patch",
  d: "delete",
  D: "deletecollection",
}
type Letter = keyof typeof VERBS
const METHODS: Readonly<Record<Letter, string>> = {
  g: "GET",
  l: "GET",
  w: "GET",
  c: "POST",
  u: "PUT",
  p: "PATCH",
  d: "DELETE",
  D: "DELETE",
}
const ALL: readonly Letter[] = ["g", "l", "w", "c", "u", "p", "d", "D"]
const OF_SUBRESOURCES: readonly Letter[] = ["g", "c", "u", "p", "d"]
/** Verbs on collections. */
const ON_ALL: readonly Letter[] = ["l", "w", "c", "D"]

/** One request whose permission is tested. `where` is the column of the table; `all` is over all namespaces. */
interface Probe {
  readonly resource: string
  readonly where: "cluster" | "own" | "other" | "all"
  readonly letter: Letter
  readonly path: string
}

let server: TestServer
let identities: Identities
let probes: readonly Probe[]

beforeAll(async () => {
  server = await startServer()
  identities = await makeIdentities(server)
  probes = await everyProbe()
})
afterAll(async () => {
  identities[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

/**
 * Every verb on every resource and subresource that the server says it has, whether it says that it takes the verb or
 * not.
 */
async function everyProbe(): Promise<readonly Probe[]> {
  const get = async <T>(path: string): Promise<T> => JSON.parse((await server.get(path)).body.toString()) as T
  const { groups } = await get<{ groups: { versions: { groupVersion: string }[] }[] }>("/apis")
  const roots = ["/api/v1", ...groups.flatMap(({ versions }) => versions.map((one) => `/apis/${one.groupVersion}`))]
  const found: Probe[] = []
  for (const root of roots) {
    const group = root === "/api/v1" ? "" : root.split("/")[2]!
    const { resources } = await get<{ resources: { name: string; namespaced: boolean }[] }>(root)
    for (const { name, namespaced } of resources) {
      const [plural = "", subresource] = name.split("/")
      const resource =
        (group === "" ? plural : `${plural}.${group}`) + (subresource === undefined ? "" : `/${subresource}`)
      const letters = subresource === undefined ? ALL : OF_SUBRESOURCES
      for (const where of namespaced ? (["own", "other", "all"] as const) : (["cluster"] as const)) {
        const namespace = { own: NAMESPACE, other: OTHER_NAMESPACE, all: undefined, cluster: undefined }[where]
        for (const letter of letters) {
          // Over all namespaces there are only reads of many objects.
          if (where === "all" && !(letter === "l" || letter === "w")) continue
          const collection = `${root}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}`
          const object = ON_ALL.includes(letter) && subresource === undefined ? collection : `${collection}/${NOBODY}`
          found.push({ resource, where, letter, path: subresource === undefined ? object : `${object}/${subresource}` })
        }
      }
    }
  }
  return found
}

/** Returns the code of the answer to a request without a body. The body of the answer is not read. */
function ask(session: ClientHttp2Session, { headers }: Identity, { letter, path }: Probe): Promise<number> {
  // With this query an allowed request changes nothing: it is a dry run, or a short watch.
  const query = letter === "w" ? "watch=true&timeoutSeconds=1" : "dryRun=All&labelSelector=none%3Dsuch&limit=1"
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": METHODS[letter],
      ":path": `${path}?${letter === "g" || letter === "l" ? "limit=1" : query}`,
      "content-type": letter === "p" ? "application/merge-patch+json" : "application/json",
      ...headers,
    })
    stream.on("response", (answer) => {
      resolve(Number(answer[":status"]))
      stream.close()
    })
    stream.on("error", reject)
    stream.end()
  })
}

/** Returns the requests that an identity is allowed, in the form of the table. */
async function allowed(identity: Identity): Promise<readonly string[]> {
  const session = connect(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false, ...identity.tls })
  const may: string[] = []
  const left = [...probes]
  const worker = async () => {
    for (let probe = left.pop(); probe !== undefined; probe = left.pop()) {
      const status = await ask(session, identity, probe)
      if (status === 429 || status >= 500) throw new Error(`${probe.path}: ${status}`)
      if (status !== 401 && status !== 403) may.push(textOf(probe))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  session.destroy()
  return may.sort()
}
const textOf = ({ resource, where, letter }: Pick<Probe, "resource" | "where" | "letter">) =>
  `${VERBS[letter]} ${resource} ${where}`

/** Returns the requests that the table allows an identity. */
function expected(name: IdentityName): readonly string[] {
  const rows = readFileSync(join(import.meta.dirname, "rights.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.split(/\s+/) as [string, string, string, string])
    .filter(([who]) => who === name || who === "known")
  const granted = ({ resource, where, letter }: Probe): boolean =>
    rows.some(
      ([, scope, of, letters]) =>
        of === resource && letters.includes(letter) && (scope === where || (scope === "any" && where !== "cluster")),
    )
  if (name === "anonymous") return []
  return (name === "administrator" ? probes : probes.filter(granted)).map(textOf).sort()
}

test("the table contains only resources that the server has", () => {
  const known = new Set(probes.map(({ resource }) => resource))
  const named = readFileSync(join(import.meta.dirname, "rights.txt"), "utf8").matchAll(/^\w+ +\w+ +(\S+) +\w+$/gm)
  expect([...named].map(([, resource]) => resource!).filter((resource) => !known.has(resource))).toEqual([])
})

test.each<IdentityName>(["anonymous", "outsider", "pod", "namespaceAdmin", "node", "administrator"])(
  "%s has the rights in the table and no others",
  async (name) => {
    // given
    const should = new Set(expected(name))

    // when
    const may = new Set(await allowed(identities[name]))

    // then
    expect({
      tooMuch: [...may].filter((one) => !should.has(one)),
      tooLittle: [...should].filter((one) => !may.has(one)),
    }).toEqual({ tooMuch: [], tooLittle: [] })
  },
)

test("a namespace's admin can read that namespace, and no other", async () => {
  const status = async (method: string, path: string) => (await identities.namespaceAdmin.request(method, path)).status
  expect(await status("GET", `/api/v1/namespaces/${NAMESPACE}`)).toBe(200)
  expect(await status("DELETE", `/api/v1/namespaces/${NAMESPACE}`)).toBe(403)
  expect(await status("GET", `/api/v1/namespaces/${OTHER_NAMESPACE}`)).toBe(403)
  expect(await status("GET", "/api/v1/namespaces")).toBe(403)
})

/** Paths that are no resource: the answer to anonymous, to everybody known, to a pod and to the administrator. */
const PATHS: readonly (readonly [
  path: string,
  anonymous: number,
  known: number,
  pod: number,
  administrator: number,
])[] = [
  ["/", 401, 403, 403, 200],
  ["/api", 401, 200, 200, 200],
  ["/api/v1", 401, 200, 200, 200],
  ["/apis", 401, 200, 200, 200],
  ["/apis/apps", 401, 200, 200, 200],
  ["/apis/apps/v1", 401, 200, 200, 200],
  ["/openapi/v2", 401, 200, 200, 200],
  ["/openapi/v3", 401, 200, 200, 200],
  ["/openapi/v3/apis/apps/v1", 401, 200, 200, 200],
  ["/version", 200, 200, 200, 200],
  ["/version/x", 403, 403, 403, 404],
  ["/healthz", 200, 200, 200, 200],
  ["/healthz/ping", 403, 403, 403, 200],
  ["/livez", 200, 200, 200, 200],
  ["/livez/ping", 403, 403, 403, 200],
  ["/readyz", 200, 200, 200, 200],
  ["/readyz/ping", 403, 403, 403, 200],
  ["/metrics", 401, 403, 403, 200],
  ["/.well-known/openid-configuration", 401, 403, 200, 200],
  ["/openid/v1/jwks", 401, 403, 200, 200],
  ["/logs", 401, 403, 403, 404],
  ["/debug/pprof/", 401, 403, 403, 200],
  ["/configz", 401, 403, 403, 404],
  ["/nothing", 401, 403, 403, 404],
]

test.each(PATHS)("%s can be read only with the right to", async (path, anonymous, known, pod, administrator) => {
  const codes = Object.fromEntries(
    await Promise.all(
      Object.values(identities).map(async (one) => [one.name, (await one.request("GET", path)).status] as const),
    ),
  )
  expect(codes).toEqual({ anonymous, outsider: known, namespaceAdmin: known, node: known, pod, administrator })
})
