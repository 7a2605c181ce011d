import { expect, test } from "bun:test"
import { realClock } from "../../../pkg/clock/real.ts"
import { InProcessRequest } from "../../../pkg/runtime/http/in-process.ts"
import { apiOfSender } from "./own-requests.ts"

test("asks with every header of the sender that is not about one request only", async () => {
  // given a request through a front proxy, whose headers have names of their own
  const sent = new InProcessRequest({
    method: "GET",
    url: "/k3ts/why",
    version: "2.0",
    headers: [
      ["Authorization", "Bearer a"],
      ["Impersonate-User", "jane"],
      ["X-Who", "jane"],
      ["Accept", "text/plain"],
      ["Content-Length", "7"],
      ["If-None-Match", '"1"'],
    ],
  })

  // when the API is asked for its sender
  const asked: Record<string, unknown>[] = []
  const server = {
    onRequest(req: { readonly headers: Record<string, unknown> }, res: { end(text: string): unknown }) {
      asked.push(req.headers)
      res.end("{}")
    },
  }
  await apiOfSender(sent, server as never, realClock).get("/api/v1/pods")

  // then the server can tell who asks, and sees none of what was said of the first request
  expect(asked).toEqual([
    { authorization: "Bearer a", "impersonate-user": "jane", "x-who": "jane", accept: "application/json" },
  ])
})
