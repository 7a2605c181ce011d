import type { TestServer } from "../../harness/server.ts"
import { plainWatchers } from "../api/watchers.ts"
import { POD } from "../api/bodies.ts"
import { openConnections, type Sent } from "./connections.ts"

/** Work that is done again and again, in slices of the same size, by each of the servers compared. */
export interface Operation {
  readonly name: string
  /** What is counted in a slice: some tenths of a second of the server's processor time. */
  readonly slice: number
  /** Makes what the work needs. The function returned does `count` of it. */
  begin(server: TestServer): Promise<{ run(count: number): Promise<void>; end(): void }>
}

const CONNECTIONS = 16
const NAMES = 500
const WATCHERS = 50
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

const configMap = (name: string | undefined, text: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: name === undefined ? { generateName: "compared-" } : { name },
  data: { text: text.padEnd(500, "x") },
})
/** Objects of a namespace of their own, so that a list has as many whatever else was created. */
const LISTED = "/api/v1/namespaces/kube-public/configmaps"
const listed = (index: number) => `compared-${index % NAMES}`

export const OPERATIONS: readonly Operation[] = [
  requests("create of a ConfigMap", 2000, () => ({
    method: "POST",
    path: CONFIG_MAPS,
    body: configMap(undefined, ""),
  })),
  requests("create of a Pod", 1000, () => ({ method: "POST", path: "/api/v1/namespaces/default/pods", body: POD })),
  onListed("GET of one object", 8000, (index) => ({ method: "GET", path: `${LISTED}/${listed(index)}` })),
  onListed(`LIST of ${NAMES} objects`, 400, () => ({ method: "GET", path: LISTED })),
  onListed("update (PUT)", 2000, (index) => ({
    method: "PUT",
    path: `${LISTED}/${listed(index)}`,
    body: configMap(listed(index), `${index}`),
  })),
  onListed("merge patch", 2000, (index) => ({
    method: "PATCH",
    path: `${LISTED}/${listed(index)}`,
    body: { data: { text: `patched ${index}` } },
  })),
  { name: `event to ${WATCHERS} watchers`, slice: 300, begin: beginWatches },
]

function requests(name: string, slice: number, request: (index: number) => Sent): Operation {
  return {
    name,
    slice,
    async begin(server) {
      const connections = await openConnections(server, CONNECTIONS)
      return { run: (count) => connections.send(count, request), end: () => connections.close() }
    },
  }
}

/** Requests about the listed objects, which are made where they are not there. */
function onListed(name: string, slice: number, request: (index: number) => Sent): Operation {
  const operation = requests(name, slice, request)
  return {
    ...operation,
    async begin(server) {
      if ((await server.get(`${LISTED}/${listed(0)}`)).status === 404) {
        const connections = await openConnections(server, CONNECTIONS)
        await connections.send(NAMES, (index) => ({
          method: "POST",
          path: LISTED,
          body: configMap(listed(index), "listed"),
        }))
        connections.close()
      }
      return await operation.begin(server)
    },
  }
}

/** Where nothing but what the watchers hear of is written. */
const WATCHED = "/api/v1/namespaces/kube-node-lease/configmaps"

/** One client writes, and each of its writes is waited for by all watchers. */
async function beginWatches(server: TestServer) {
  const connections = await openConnections(server, 1)
  let [left, all] = [0, (): void => undefined]
  const close = await plainWatchers(server, WATCHERS, `${WATCHED}?watch=true`, (events) => {
    left -= events
    if (left <= 0) all()
  })
  await Bun.sleep(500) // the events of what is there already
  return {
    async run(count: number) {
      for (let i = 0; i < count; i++) {
        left = WATCHERS
        const delivered = new Promise<void>((resolve) => (all = resolve))
        await connections.send(1, () => ({ method: "POST", path: WATCHED, body: configMap(undefined, "") }))
        await delivered
      }
    },
    end() {
      connections.close()
      close()
    },
  }
}
