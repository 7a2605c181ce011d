import type { Answer, ObjectRef, State } from "../../../../pkg/why/answer.ts"
import type { Overview } from "../../../../pkg/why/cluster.ts"
import type { WhyApi } from "../../../../pkg/why/reading/reader.ts"
import type { ClusterParts } from "../cluster-parts.ts"
import { Waits } from "../kubectl/driven-environment.ts"
import { inProcessConnect } from "../kubectl/in-process-http.ts"

/** Why an object is not well, as `k3ts why` tells it; `String(…)` is its text. */
export interface Why extends Answer {
  readonly state: State
  toString(): string
}

/** What in a cluster is not well, as `k3ts why` alone tells it; `String(…)` is its text. */
export interface ClusterWhy extends Overview {
  toString(): string
}

type Parts = Pick<ClusterParts, "assembly" | "clock" | "driver">

/** Returns why an object, as KIND/NAME, is not well; asked as administrator, while time goes on for what is waited for. */
export async function whyOf(parts: Parts, words: string, namespace: string): Promise<Why> {
  const [{ objectNamed, why }, { stateOf }, { answerText }] = await Promise.all([
    import("../../../../pkg/why/why.ts"),
    import("../../../../pkg/why/answer.ts"),
    import("../../../../pkg/why/text.ts"),
  ])
  return asked(parts, `why ${words}`, async (api) => {
    const object: ObjectRef = await objectNamed(api, words, namespace)
    const answer = await why(api, object)
    return { state: stateOf(answer), ...answer, toString: () => answerText(answer) }
  })
}

/** Returns what in the cluster is not well. */
export async function whyOfAll(parts: Parts): Promise<ClusterWhy> {
  const [{ whyCluster }, { overviewText }] = await Promise.all([
    import("../../../../pkg/why/cluster.ts"),
    import("../../../../pkg/why/text.ts"),
  ])
  return asked(parts, "why", async (api) => {
    const overview = await whyCluster(api)
    return { ...overview, toString: () => overviewText(overview) }
  })
}

async function asked<T>(
  { assembly, clock, driver }: Parts,
  what: string,
  work: (api: WhyApi) => Promise<T>,
): Promise<T> {
  const waits = new Waits(driver, what)
  const ended = driver.runsBeside(() => waits.isRunning)
  const connect = waits.connect(inProcessConnect(() => assembly.apiServer.server))
  const { adminToken } = assembly.apiServer.files!
  const api: WhyApi = {
    now: () => clock.now(),
    async get(path, accept = "application/json") {
      const url = new URL(`https://k3ts-testing:6443${path}`)
      const headers = { accept, authorization: `Bearer ${adminToken}` }
      const { status, body } = await connect.send({ method: "GET", url, headers, tls: {} })
      const parts: Uint8Array[] = []
      for await (const part of body) parts.push(part)
      return { code: status, text: Buffer.concat(parts).toString() }
    },
  }
  try {
    return await work(api)
  } finally {
    ended()
  }
}
