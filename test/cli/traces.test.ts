import { freePort } from "../../pkg/runtime/free-port.fixtures.ts"
import { expect, test } from "bun:test"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  APPLY_PHASES,
  DEPLOYMENT,
  isInPicture,
  lostSpans,
  SERVICE,
  TRACE_ID,
  traceparent,
  untilReady,
} from "../harness/applied-trace.ts"
import { startOtlpReceiver } from "../harness/otlp-receiver.ts"
import { tracePicture } from "../harness/trace-picture.ts"
import { k3ts, startServer } from "./k3ts.ts"

test("the way from one apply to a ready pod is one trace in a collector, with every phase in it", async () => {
  // given a collector, and a server with a simulated node that is told of it as any program of OpenTelemetry
  await using receiver = await startOtlpReceiver()
  await using server = await startServer({
    node: true,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: "50" },
  })

  // when a Deployment is applied in a trace of the client's own
  const apply = ({ path, object }: typeof SERVICE | typeof DEPLOYMENT, headers: Readonly<Record<string, string>>) =>
    server.send("PATCH", `${path}?fieldManager=test&force=true`, JSON.stringify(object), {
      "content-type": "application/apply-patch+yaml",
      ...headers,
    })
  await apply(SERVICE, {})
  await apply(DEPLOYMENT, { traceparent })
  await receiver.until((spans) => untilReady(spans))

  // then all of it is in the client's trace, and hangs together
  const spans = receiver.spans.filter(({ traceId }) => traceId === TRACE_ID)
  const names = new Set(spans.map(({ service, name }) => `${service}: ${name}`))
  expect(APPLY_PHASES.filter((phase) => !names.has(phase))).toEqual([])
  expect(lostSpans(spans).map(({ name }) => name)).toEqual([])
  // and this is the picture in docs/observability.md
  const { K3TS_TRACE_PICTURE: picture } = process.env
  if (picture !== undefined) writeFileSync(picture, tracePicture(spans, isInPicture))
}, 30_000)

test("a file that is no TracingConfiguration is refused with the reason", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "k3ts-tracing-")), "tracing.yaml")
  writeFileSync(file, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: http://a\n")
  expect(
    await k3ts([
      ...["server", "--disable-agent", "--data-dir", join(file, "../data"), "--tracing-config-file", file],
      ...["--https-listen-port", String(await freePort())],
    ]),
  ).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("endpoint: expected host:port") as string,
  })
})
