/**
 * What the kubelet does to containers while they run. After lifecycle_hook.go and container_probe.go of
 * test/e2e/common/node, and test/e2e/node/pre_stop.go.
 */
import { expect } from "bun:test"
import { stay } from "../../harness/cluster.ts"
import type { Loose } from "../cluster.ts"
import { condition } from "../workloads/workload-cluster.ts"
import { containerStatuses, isReady, until, type ContainerSpec } from "./namespace.ts"
import { netexec, program, programVolumes } from "./programs/programs.ts"
import { describeStandIns } from "./stand-in.ts"

const volumes = programVolumes
const restarts = (pod: Loose | undefined) => containerStatuses(pod)[0]?.restartCount ?? 0

describeStandIns(
  "hooks and probes",
  (standIn) => {
    for (const [title, hook, kind] of [
      [
        "Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart exec hook properly",
        "postStart",
        "exec",
      ],
      [
        "Container Lifecycle Hook when create a pod with lifecycle hook should execute prestop exec hook properly",
        "preStop",
        "exec",
      ],
      [
        "Container Lifecycle Hook when create a pod with lifecycle hook should execute poststart http hook properly",
        "postStart",
        "httpGet",
      ],
      [
        "Container Lifecycle Hook when create a pod with lifecycle hook should execute prestop http hook properly",
        "preStop",
        "httpGet",
      ],
    ] as const)
      standIn(title, async (ns) => {
        // given a pod that receives the request of each hook, and a sidecar that forwards those of HTTP hooks
        const handler = await ns.runPod("handler", { volumes, containers: [netexec()] })
        const ip = handler.status["podIP"] as string
        const message = `echo?msg=${hook.toLowerCase()}`
        const action =
          kind === "exec"
            ? { exec: { command: ["sh", "-c", `wget -q -O - 'http://${ip}:8080/${message}'`] } }
            : { httpGet: { path: `/dial?host=${ip}&port=8080&request=${encodeURIComponent(message)}`, port: 8080 } }
        const told = (log: string) => log.includes(`GET /${message}`)
        await ns.runPod("pod", {
          restartPolicy: "Always",
          terminationGracePeriodSeconds: 15,
          volumes,
          initContainers: [
            {
              ...program("netexec.ts"),
              name: "sidecar",
              restartPolicy: "Always",
              startupProbe: { httpGet: { path: "/echo?msg=startup", port: 8080 }, periodSeconds: 1 },
            },
          ],
          containers: [{ command: stay(), lifecycle: { [hook]: action } }],
        })
        if (hook === "postStart") await ns.untilLog("handler", told)
        else expect(told(await ns.log("handler"))).toBe(false)
        await ns.cluster.delete(`${ns.path}/pods/pod`, { gracePeriodSeconds: 15 })
        await ns.untilPod("pod", (pod) => pod === undefined)
        await ns.untilLog("handler", told)
      })

    standIn("PreStop should call prestop when killing a pod", async (ns) => {
      const server = await ns.runPod("server", { volumes, containers: [netexec()] })
      const url = `http://${server.status["podIP"] as string}:8080/write`
      await ns.runPod("tester", {
        terminationGracePeriodSeconds: 30,
        containers: [
          {
            command: ["sleep", "600"],
            lifecycle: { preStop: { exec: { command: ["wget", "-O-", '--post-data={"Source": "prestop"}', url] } } },
          },
        ],
      })
      await ns.cluster.delete(`${ns.path}/pods/tester`)
      await until(
        "the call of preStop",
        async () => (await ns.cluster.send("GET", `${ns.path}/pods/server:8080/proxy/read`)).text,
        (text) => text === '{"Received":{"prestop":1}}',
      )
    })

    standIn(
      "Probing container with readiness probe should not be ready before initial delay and never restart",
      async (ns) => {
        const delay = 30
        await ns.createPod("pod", {
          restartPolicy: "Always",
          volumes,
          containers: [
            {
              ...program("netexec.ts"),
              readinessProbe: { httpGet: { path: "/healthz", port: 8080 }, initialDelaySeconds: delay },
            },
          ],
        })
        const pod = await ns.untilPod("pod", isReady)
        const startedAt = Date.parse(containerStatuses(pod)[0]!.state.running!.startedAt)
        const readyAt = Date.parse(
          (condition(pod, "Ready") as unknown as { lastTransitionTime: string }).lastTransitionTime,
        )
        // both times are in whole seconds
        expect(readyAt - startedAt).toBeGreaterThanOrEqual((delay - 1) * 1000)
        expect(restarts(pod)).toBe(0)
      },
    )

    standIn("Probing container with readiness probe that fails should never be ready and never restart", async (ns) => {
      await ns.createPod("pod", {
        restartPolicy: "Always",
        containers: [
          {
            command: stay(),
            readinessProbe: { exec: { command: ["/bin/false"] }, periodSeconds: 1, initialDelaySeconds: 5 },
          },
        ],
      })
      const started = await ns.untilPod("pod", (pod) => pod?.status.phase === "Running")
      const watch = await ns.cluster.watch(`${ns.path}/pods?resourceVersion=${started.metadata.resourceVersion}`)
      await Bun.sleep(60_000)
      for (const { object } of watch.events) expect([isReady(object), restarts(object)]).toEqual([false, 0])
      watch.close()
      const pod = await ns.cluster.get(`${ns.path}/pods/pod`)
      expect([isReady(pod), restarts(pod)]).toEqual([false, 0])
      const events = await ns.cluster.get(`${ns.path}/events?fieldSelector=reason%3DUnhealthy`)
      expect(events.items.length).toBeGreaterThan(0)
    })

    const often = { initialDelaySeconds: 3, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 5 }
    const health = { exec: { command: ["cat", "/tmp/health"] } }
    const liveness = (container: Partial<ContainerSpec>, livenessProbe: ContainerSpec["livenessProbe"]) => ({
      restartPolicy: "Always" as const,
      volumes,
      containers: [{ ...container, ...(livenessProbe === undefined ? {} : { livenessProbe }) }],
    })

    for (const { title, container, probe } of [
      {
        title: 'Probing container should be restarted with a exec "cat /tmp/health" liveness probe',
        container: { command: stay("echo ok > /tmp/health; sleep 5; rm -f /tmp/health") },
        probe: health,
      },
      {
        title: "Probing container should be restarted with a /healthz http liveness probe",
        container: program("netexec.ts", { HEALTHY_MS: "5000" }),
        probe: { httpGet: { path: "/healthz", port: 8080 } },
      },
      {
        title: "Probing container should be restarted with a GRPC liveness probe",
        container: program("netexec.ts", { GRPC_PORT: "5000", GRPC_HEALTHY_MS: "5000" }),
        probe: { grpc: { port: 5000 } },
      },
    ])
      standIn(title, async (ns) => {
        await ns.createPod("pod", liveness(container, { ...probe, ...often }))
        await ns.untilPod("pod", (pod) => restarts(pod) >= 1)
      })

    // Upstream observes four minutes, in which about 24 probes run. Here the same number runs, one each second.
    const WATCHED_MS = 30_000
    for (const { title, container, probe } of [
      {
        title: 'Probing container should *not* be restarted with a exec "cat /tmp/health" liveness probe',
        container: { command: stay("echo ok > /tmp/health") },
        probe: health,
      },
      {
        title: "Probing container should *not* be restarted with a tcp:8080 liveness probe",
        container: program("netexec.ts"),
        probe: { tcpSocket: { port: 8080 } },
      },
      {
        title: "Probing container should *not* be restarted with a /healthz http liveness probe",
        container: program("netexec.ts"),
        probe: { httpGet: { path: "/healthz", port: 8080 } },
      },
      {
        title: "Probing container should *not* be restarted with a GRPC liveness probe",
        container: program("netexec.ts", { GRPC_PORT: "5000" }),
        probe: { grpc: { port: 5000 } },
      },
    ])
      standIn(title, async (ns) => {
        // On a busy machine the program starts slowly: a startup probe waits for it.
        const startupProbe = { ...probe, periodSeconds: 1, failureThreshold: 60 }
        await ns.createPod("pod", liveness({ ...container, startupProbe }, { ...probe, ...often, failureThreshold: 5 }))
        await ns.untilPod("pod", isReady)
        await Bun.sleep(WATCHED_MS)
        const pod = await ns.cluster.get(`${ns.path}/pods/pod`)
        expect([pod.status.phase, restarts(pod)]).toEqual(["Running", 0])
      })

    standIn("Probing container should have monotonically increasing restart count", async (ns) => {
      const counts = async (pod: string) => restarts(await ns.cluster.get(`${ns.path}/pods/${pod}`))
      await ns.createPod("pod", liveness({ command: stay() }, { ...health, ...often }))
      for (let wanted = 1, last = 0; wanted <= 5; wanted++)
        await until(
          `restart ${wanted}`,
          () => counts("pod"),
          (count) => {
            expect(count).toBeGreaterThanOrEqual(last)
            last = count
            return count >= wanted
          },
        )
    })
  },
  { width: 20 },
)
