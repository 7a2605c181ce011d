import { expect, test } from "bun:test"
import type { HttpProbeRequest } from "../runtime/runtime.ts"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

test("asks a hook's server that speaks no TLS again without it, without the authorization, and says so", async () => {
  // given
  await using node = await simulatedKubelet({ web: {} })
  const asked: HttpProbeRequest[] = []
  node.runtime.network.httpGet = (request) => {
    asked.push(request)
    return request.scheme === "HTTPS"
      ? Promise.reject(new Error('Get "https://…/": http: server gave HTTP response to HTTPS client'))
      : Promise.resolve({ status: 404, statusText: "Not Found", body: "" })
  }
  // when
  await node.create("web", {
    containers: [
      {
        name: "c",
        image: "web",
        lifecycle: {
          postStart: {
            httpGet: {
              host: "192.0.2.7",
              port: 443,
              path: "/up",
              scheme: "HTTPS",
              httpHeaders: [
                { name: "Authorization", value: "Bearer x" },
                { name: "X-A", value: "b" },
              ],
            },
          },
        },
      },
    ],
  })
  // then any answer is good
  expect(node.status("web").phase).toBe("Running")
  expect(asked.map(({ scheme, headers }) => [scheme, ...headers.map(({ name }) => name)])).toEqual([
    ["HTTPS", "User-Agent", "Accept", "Authorization", "X-A"],
    ["HTTP", "User-Agent", "Accept", "X-A"],
  ])
  expect(node.events("web").filter((event) => event.includes("HTTP"))).toEqual([
    "LifecycleHTTPFallback: request to HTTPS lifecycle hook 192.0.2.7:443 got HTTP response, retry with HTTP succeeded",
  ])
  expect(node.events("web").filter((event) => event.includes("Hook"))).toEqual([])
})
