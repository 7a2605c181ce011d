import { request } from "node:https"
import type { Cluster } from "./testing.ts"
/** Returns a Deployment `web`. */
export const web = (replicas: number, image = "nginx:1.27") => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web" },
  spec: {
    replicas,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } },
  },
})

/** Returns the response of /metrics. */
export async function metricsOf(cluster: Cluster): Promise<string> {
  const { port, token } = await cluster.listen()
  return new Promise((resolve, reject) => {
    const options = { rejectUnauthorized: false, headers: { Authorization: `Bearer ${token}`, Connection: "close" } }
    const call = request(`https://127.0.0.1:${port}/metrics`, { ...options, agent: false }, (response) => {
      let text = ""
      response.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")))
      response.on("end", () => resolve(text))
    })
    call.on("error", reject)
    call.end()
  })
}
