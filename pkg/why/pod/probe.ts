import { isOwnAddress } from "../network/own-address.ts"
import type { Container } from "../../api/core/v1/container/container.ts"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import { finding, mend, type Finding, type Mend } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { patchCommand, workloadOf } from "../workload.ts"

export type ProbeName = "readiness" | "liveness" | "startup"
const FIELD = { readiness: "readinessProbe", liveness: "livenessProbe", startup: "startupProbe" } as const

/** What follows for the container when a probe fails. */
const EFFECT = {
  readiness: "it gets no requests",
  liveness: "it is killed and started again",
  startup: "it is killed before it has started",
} as const

/** Returns why a probe of a container fails. `answer` is what the kubelet said of its last try. */
export async function probeFinding(
  pod: Pod,
  container: Container,
  probe: ProbeName,
  answer: string,
  ward: Ward,
  more: readonly string[] = [],
): Promise<Finding> {
  const { name, ports = [] } = container
  const declared = container[FIELD[probe]]
  const said = answer.replace(/^\w+ probe (?:failed|errored(?: and resulted in \w+ state)?): /i, "").trim()
  const evidence = [answer, ...more].filter((line) => line !== "")
  const http = declared?.httpGet
  const port = http?.port ?? declared?.tcpSocket?.port ?? declared?.grpc?.port
  const what = `the ${probe} probe of container ${name}`
  const names = ports.map(({ name: portName, containerPort }) =>
    portName === undefined ? `${containerPort}` : `${portName} (${containerPort})`,
  )
  const make = (kind: string, says: string, mends: readonly Mend[] = [], sure = true, hints: readonly string[] = []) =>
    finding(`${probe}-probe-${kind}`, `${what} ${says}, so ${EFFECT[probe]}`, { evidence, mends, sure, hints })

  if (typeof port === "string" && !/^\d+$/.test(port) && !ports.some((one) => one.name === port))
    return make(
      "port-name",
      `asks port ${JSON.stringify(port)}, and the container has no port of this name${names.length === 0 ? "" : `, but ${names.join(", ")}`}`,
    )
  const host = http?.host ?? declared?.tcpSocket?.host
  if (host)
    return make(
      "host",
      `asks the host ${host}, and not the pod` +
        (isOwnAddress(host) ? ": for the kubelet, which asks, that is the node itself" : ""),
      await handlerMends(
        pod,
        container,
        probe,
        http === undefined ? { tcpSocket: { host: null } } : { httpGet: { host: null } },
        "asks the pod instead",
        ward,
      ),
    )
  if (/connection refused|ECONNREFUSED/i.test(said)) {
    const number = ports.find((one) => one.name === port)?.containerPort ?? Number(port)
    const isDeclared = ports.some(({ containerPort }) => containerPort === number)
    const [only] = ports
    if (ports.length > 0 && !isDeclared) {
      const mends =
        ports.length === 1 && only !== undefined ? await portMends(pod, container, probe, only.containerPort, ward) : []
      return make(
        "port",
        `asks port ${number}, on which nothing listens; the container declares ${names.join(", ")}`,
        mends,
      )
    }
    return make(
      "refused",
      `asks port ${number}, on which nothing listens: the program does not serve there, or not yet`,
      [],
      true,
      ["see on which port and address the program listens; 127.0.0.1 is not reached from outside of the pod"],
    )
  }
  const status = /statuscode: (\d+)/i.exec(said)?.[1]
  if (status === "404")
    return make("path", `asks for ${http?.path ?? "/"}, and the program answers 404: it has no such path`, [], true, [
      "correct the path of the probe",
    ])
  if (status === "401" || status === "403")
    return make("status", `asks for ${http?.path ?? "/"}, and the program answers ${status}: it wants credentials`)
  const isHttp = http !== undefined && http.scheme !== "HTTPS"
  const toHttps = () =>
    handlerMends(pod, container, probe, { httpGet: { scheme: "HTTPS" } }, "speaks HTTPS instead", ward)
  if (status === "400" && isHttp && /443$|https|tls/i.test(`${port} ${names.join(" ")}`))
    return make(
      "scheme",
      `speaks HTTP, and the program answers 400: perhaps port ${port} speaks HTTPS`,
      [],
      false,
      (await toHttps()).map(({ command: one, says }) => `${String(one)} ${says}`),
    )
  if (status !== undefined)
    return make(
      "status",
      `asks for ${http?.path ?? "/"}, and the program answers ${status}: it says that it is not well`,
    )
  if (/deadline exceeded|timed? ?out|Client\.Timeout/i.test(said))
    return make("timeout", `gets no answer within ${declared?.timeoutSeconds ?? 1} s`, [], true, [
      "raise timeoutSeconds, or find out what keeps the program from answering",
    ])
  if (/http: server gave HTTP response to HTTPS client|tls: first record/i.test(said))
    return make(
      "scheme",
      "speaks HTTPS with a port that speaks HTTP",
      await handlerMends(pod, container, probe, { httpGet: { scheme: "HTTP" } }, "speaks HTTP instead", ward),
    )
  if (/responded with "([A-Z_]+)"/.test(said))
    return make("status", `asks gRPC for its health, and the program answers ${/"([A-Z_]+)"/.exec(said)![1]!}`)
  // A TLS server that is asked for something else answers with an alert, which begins with 0x15.
  if (/malformed HTTP response "?\\x15\\x03/i.test(said) && isHttp)
    return make("scheme", "speaks HTTP with a port that speaks HTTPS", await toHttps())
  if (/malformed HTTP response/i.test(said)) return make("scheme", "speaks HTTP with a port that does not")
  const absent = /exec: "([^"]+)": (?:executable file not found|stat [^:]*: no such file)/.exec(said)?.[1]
  if (declared?.exec !== undefined && absent !== undefined)
    return make(
      "command",
      `runs ${(declared.exec.command ?? []).join(" ")}, and the image has no program ${JSON.stringify(absent)}`,
      [],
      true,
      ["probe by httpGet, tcpSocket or grpc, which need no program; or use an image that has it"],
    )
  if (declared?.exec !== undefined)
    return make(
      "command",
      `runs ${(declared.exec.command ?? []).join(" ")}, which fails${said === "" ? "" : `: ${said}`}`,
    )
  return make("failed", `fails${said === "" ? "" : `: ${said}`}`)
}

const portMends = (pod: Pod, container: Container, probe: ProbeName, port: number, ward: Ward) => {
  const { httpGet, tcpSocket } = container[FIELD[probe]] ?? {}
  const handler =
    httpGet !== undefined
      ? { httpGet: { port } }
      : tcpSocket !== undefined
        ? { tcpSocket: { port } }
        : { grpc: { port } }
  return handlerMends(pod, container, probe, handler, `asks port ${port} instead`, ward)
}

/** Returns the command that changes what a probe asks. */
async function handlerMends(
  pod: Pod,
  { name }: Container,
  probe: ProbeName,
  handler: object,
  says: string,
  ward: Ward,
): Promise<readonly Mend[]> {
  const workload = await workloadOf(pod, ward)
  // The probes of a pod cannot be changed.
  if (workload.ref.kind === "Pod" || workload.ref.kind === "Job") return []
  return [mend(patchCommand(workload, { containers: [{ name, [FIELD[probe]]: handler }] }), says)]
}
