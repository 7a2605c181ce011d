import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import { loaded, type Clock } from "../../../pkg/clock/clock.ts"
import type { Exchange } from "../call/exchange.ts"
import type { RequestInfo } from "../call/request-info.ts"
import { isWhyPath, WHY } from "../call/why-path.ts"
import { noSuchMethod } from "../call/subresource-verbs.ts"
import type { Server } from "../server.ts"

/**
 * Serves `GET /k3ts/why/KIND/NAME?namespace=…`, and `GET /k3ts/why` for the whole cluster: the JSON of `k3ts why`. It
 * needs the right to get this path, and shows what its sender may read.
 */
export function whyPaths(server: () => Server, clock: Clock) {
  return (exchange: Exchange, info: RequestInfo): Promise<void> | undefined => {
    if (!isWhyPath(info)) return undefined
    if (info.verb !== "get") throw noSuchMethod()
    return answer(exchange, info, server(), clock)
  }
}

async function answer(exchange: Exchange, { path, query }: RequestInfo, server: Server, clock: Clock): Promise<void> {
  const [{ apiOfSender }, { objectNamed, why }, { stateOf }, { whyCluster }] = await loaded(
    clock,
    Promise.all([
      import("./own-requests.ts"),
      import("../../../pkg/why/why.ts"),
      import("../../../pkg/why/answer.ts"),
      import("../../../pkg/why/cluster.ts"),
    ]),
  )
  const api = apiOfSender(exchange.req, server, clock)
  const words = path.slice(WHY.length + 1)
  const namespace = query.get("namespace") ?? undefined
  if (words === "") return exchange.sendJson(200, await whyCluster(api, namespace))
  const object = await objectNamed(api, words, namespace ?? "default").catch((cause: unknown) => {
    throw new ApiError("NotFound", (cause as Error).message, undefined, { cause })
  })
  const found = await why(api, object)
  exchange.sendJson(200, { state: stateOf(found), ...found })
}
