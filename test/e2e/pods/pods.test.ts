/** The life of pods: start order, probes, restarts, ends. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { Event } from "../../../pkg/api/core/v1/event/event.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { BUSYBOX, describeOnNode, sh, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"

const image = BUSYBOX

describeOnNode("pods", () => {
  let cluster: Cluster
  beforeAll(async () => void (cluster = await startCluster()))
  afterAll(() => cluster?.[Symbol.asyncDispose]())
  const remove = (name: string, gracePeriodSeconds?: number) =>
    cluster.client.delete(
      Pod,
      { name, namespace: "default" },
      gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
    )
  const reasons = async (name: string) =>
    (
      await cluster.client.list(Event, { namespace: "default", fieldSelector: `involvedObject.name=${name}` })
    ).items.map(({ reason }) => reason)
  /**
   * Resolves when the pod has events of these reasons. They are written separately from the status, so they may come a
   * little later.
   */
  const told = async (name: string, ...wanted: readonly string[]) => {
    const deadline = performance.now() + 10_000
    for (;;) {
      const found = await reasons(name)
      if (wanted.every((reason) => found.includes(reason))) return
      if (performance.now() > deadline) expect(found).toEqual(expect.arrayContaining([...wanted]))
      await Bun.sleep(20)
    }
  }

  describe("order", () => {
    test("init containers run one after the other, sidecars beside them, and the sidecar ends last", async () => {
      const volumeMounts = [{ name: "log", mountPath: "/log" }]
      await cluster.createPod("order", {
        volumes: [{ name: "log", emptyDir: {} }],
        restartPolicy: "Never",
        initContainers: [
          { name: "first", image, command: sh("echo first >> /log/all"), volumeMounts },
          {
            name: "side",
            image,
            restartPolicy: "Always",
            command: sh(
              "echo side >> /log/all; trap 'echo side ends >> /log/all; cat /log/all; exit 0' TERM; while :; " +
                "do sleep 3600 & wait $!; done",
            ),
            volumeMounts,
            startupProbe: { exec: { command: ["grep", "side", "/log/all"] }, periodSeconds: 1 },
          },
          { name: "second", image, command: sh("echo second >> /log/all"), volumeMounts },
        ],
        containers: [{ name: "main", image, command: sh("echo main >> /log/all"), volumeMounts }],
      })
      const done = await cluster.pod("order", ({ status }) => status.phase === "Succeeded")
      expect(await cluster.log("order", "?container=side")).toBe("first\nside\nsecond\nmain\nside ends\n")
      expect(done.status.conditions?.find(({ type }) => type === "Initialized")?.status).toBe("True")
    })

    test("a failing init container prevents the other containers from starting", async () => {
      await cluster.createPod("init-fails", {
        restartPolicy: "Never",
        initContainers: [{ name: "i", image, command: sh("exit 9") }],
        containers: [{ name: "c", image, command: stay() }],
      })
      const failed = await cluster.pod("init-fails", ({ status }) => status.phase === "Failed")
      expect(failed.status.initContainerStatuses![0]!.state.terminated).toMatchObject({ exitCode: 9, reason: "Error" })
      expect(failed.status.containerStatuses![0]!.state.waiting?.reason).toBe("PodInitializing")
    })

    test("postStart runs before the container is ready, preStop before it gets its signal to end", async () => {
      await cluster.runPod("hooks", {
        volumes: [{ name: "log", hostPath: { path: `${cluster.server.dataDir}/hooks`, type: "DirectoryOrCreate" } }],
        containers: [
          {
            name: "c",
            image,
            command: sh("trap 'echo term >> /log/all; exit 0' TERM; while :; do sleep 3600 & wait $!; done"),
            volumeMounts: [{ name: "log", mountPath: "/log" }],
            lifecycle: {
              postStart: { exec: { command: sh("echo started >> /log/all") } },
              preStop: { exec: { command: sh("echo stopping >> /log/all") } },
            },
          },
        ],
      })
      await remove("hooks")
      await cluster.gone(Pod, "hooks")
      expect(await Bun.file(`${cluster.server.dataDir}/hooks/all`).text()).toBe("started\nstopping\nterm\n")
    })

    test("a postStart that fails ends the container", async () => {
      await cluster.createPod("bad-hook", {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "c", image, command: stay(), lifecycle: { postStart: { exec: { command: ["false"] } } } }],
      })
      await cluster.pod(
        "bad-hook",
        ({ status }) =>
          (status.containerStatuses?.[0]?.restartCount ?? 0) > 0 ||
          status.containerStatuses?.[0]?.state.waiting?.reason === "CrashLoopBackOff",
      )
      await told("bad-hook", "FailedPostStartHook")
    })
  })

  describe("ends", () => {
    test("are followed by restarts according to the policy, with backoff; the status has exit codes, reasons and messages", async () => {
      await Promise.all([
        cluster.createPod("crash", {
          containers: [{ name: "c", image, command: sh("echo dying > /dev/termination-log; exit 5") }],
        }),
        cluster.createPod("on-failure", {
          restartPolicy: "OnFailure",
          volumes: [{ name: "d", emptyDir: {} }],
          containers: [
            {
              name: "c",
              image,
              volumeMounts: [{ name: "d", mountPath: "/d" }],
              command: sh("[ -e /d/again ] && exit 0; touch /d/again; exit 1"),
            },
          ],
        }),
        cluster.createPod("never", {
          restartPolicy: "Never",
          containers: [
            {
              name: "c",
              image,
              command: sh("echo last words; exit 1"),
              terminationMessagePolicy: "FallbackToLogsOnError",
            },
          ],
        }),
        cluster.createPod("oom", {
          restartPolicy: "Never",
          containers: [
            {
              name: "c",
              image,
              command: sh("head -c 200m /dev/zero | tail"),
              resources: { limits: { memory: "20Mi" } },
            },
          ],
        }),
      ])
      const crash = await cluster.pod(
        "crash",
        ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === "CrashLoopBackOff",
      )
      expect(crash.status.containerStatuses![0]!.lastState.terminated).toMatchObject({
        exitCode: 5,
        reason: "Error",
        message: "dying\n",
      })
      expect(crash.status.containerStatuses![0]!.state.waiting!.message).toMatch(
        /^back-off 10s restarting failed container=c pod=crash_default\(/,
      )
      await told("crash", "BackOff")
      const onFailure = await cluster.pod("on-failure", ({ status }) => status.phase === "Succeeded")
      expect(onFailure.status.containerStatuses![0]!.restartCount).toBe(1)
      const never = await cluster.pod("never", ({ status }) => status.phase === "Failed")
      expect(never.status.containerStatuses![0]!.state.terminated).toMatchObject({
        exitCode: 1,
        message: "last words\n",
      })
      const oom = await cluster.pod("oom", ({ status }) => status.phase === "Failed")
      expect(oom.status.containerStatuses![0]!.state.terminated).toMatchObject({ exitCode: 137, reason: "OOMKilled" })
    }, 60_000)

    test("a graceful deletion waits for the container, up to the grace period; a forced one does not", async () => {
      const pods = await Promise.all([
        cluster.runPod("graceful", {
          containers: [
            { name: "c", image, command: sh("trap 'sleep 0.5; exit 0' TERM; while :; do sleep 3600 & wait $!; done") },
          ],
        }),
        cluster.runPod("stubborn", {
          terminationGracePeriodSeconds: 1,
          containers: [{ name: "c", image, command: sh("trap '' TERM; while :; do sleep 1; done") }],
        }),
        cluster.runPod("forced", {
          containers: [{ name: "c", image, command: sh("trap '' TERM; while :; do sleep 1; done") }],
        }),
      ])
      const began = performance.now()
      const took = async (name: string) => {
        await cluster.gone(Pod, name)
        return performance.now() - began
      }
      const gone = Promise.all([took("graceful"), took("stubborn"), took("forced")])
      await Promise.all([remove("graceful"), remove("stubborn"), remove("forced", 0)])
      expect(
        (await cluster.client.get(Pod, { name: "graceful", namespace: "default" })).metadata.deletionGracePeriodSeconds,
      ).toBe(30)
      const [graceful, stubborn, forced] = await gone
      expect(graceful).toBeGreaterThan(450)
      expect(stubborn).toBeGreaterThan(950)
      expect(forced).toBeLessThan(graceful)
      // its processes end nevertheless, and nothing of the three pods is left
      const cgroups = () =>
        pods.flatMap(({ metadata }) =>
          spawnSync("find", ["/sys/fs/cgroup", "-type", "d", "-name", `*pod${metadata.uid}*`], { encoding: "utf8" })
            .stdout.split("\n")
            .filter((line) => line !== ""),
        )
      while (cgroups().length > 0) await Bun.sleep(20)
    })

    test("a pod over its deadline fails", async () => {
      await cluster.createPod("deadline", {
        activeDeadlineSeconds: 1,
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "c", image, command: stay() }],
      })
      const failed = await cluster.pod("deadline", ({ status }) => status.phase === "Failed")
      expect(failed.status.reason).toBe("DeadlineExceeded")
    })
  })

  test("a pod is evicted when its container or its emptyDir exceeds its limit of disk space", async () => {
    // given
    const pod = (name: string, script: string, more: object, volumes: object = {}) =>
      cluster.createPod(name, { containers: [{ name: "c", image, command: sh(script), ...more }], ...volumes })
    const write = (file: string) => `dd if=/dev/zero of=${file} bs=1M count=10; sleep 3600`
    const limits = { "ephemeral-storage": "5Mi" }
    // when
    await Promise.all([
      pod("disk-layer", write("/file"), { resources: { limits } }),
      pod(
        "disk-volume",
        write("/v/file"),
        { volumeMounts: [{ name: "v", mountPath: "/v" }] },
        {
          volumes: [{ name: "v", emptyDir: { sizeLimit: "5Mi" } }],
        },
      ),
    ])
    // The size of a volume is measured once a minute and looked at every ten seconds; one wait lasts half a minute.
    const failed = (name: string) => cluster.pod(name, ({ status }) => status.phase === "Failed")
    const ended = ["disk-layer", "disk-volume"].map((name) =>
      failed(name)
        .catch(() => failed(name))
        .catch(() => failed(name)),
    )
    // then
    expect((await Promise.all(ended)).map(({ status: { reason, message } }) => ({ reason, message }))).toEqual([
      { reason: "Evicted", message: "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. " },
      { reason: "Evicted", message: 'Usage of EmptyDir volume "v" exceeds the limit "5Mi". ' },
    ])
    await told("disk-layer", "Evicted")
  }, 120_000)

  describe("probes", () => {
    test("of every kind make a pod ready, remove it from its Service, or restart its container", async () => {
      const server = { image: WEB, readinessProbe: { httpGet: { path: "/index.html", port: 80 }, periodSeconds: 1 } }
      await Promise.all([
        cluster.create(Service, {
          metadata: { name: "probed", namespace: "default" },
          spec: { selector: { app: "probed" }, ports: [{ port: 80 }] },
        }),
        cluster.createPod("http", { containers: [{ name: "c", ...server }] }, { labels: { app: "probed" } }),
        cluster.createPod("tcp", {
          containers: [{ name: "c", image: WEB, readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 } }],
        }),
        cluster.createPod("tcp-not", {
          containers: [{ name: "c", image: WEB, readinessProbe: { tcpSocket: { port: 81 }, periodSeconds: 1 } }],
        }),
        cluster.createPod("grpc-not", {
          containers: [{ name: "c", image: WEB, readinessProbe: { grpc: { port: 80 }, periodSeconds: 1 } }],
        }),
        cluster.createPod("live", {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: "c",
              image,
              command: stay("touch /tmp/fine"),
              livenessProbe: { exec: { command: ["cat", "/tmp/fine"] }, periodSeconds: 1, failureThreshold: 1 },
            },
          ],
        }),
        cluster.createPod("slow", {
          containers: [
            {
              name: "c",
              image,
              command: stay("sleep 2; touch /tmp/up"),
              startupProbe: { exec: { command: ["cat", "/tmp/up"] }, periodSeconds: 1, failureThreshold: 30 },
              livenessProbe: { exec: { command: ["cat", "/tmp/up"] }, periodSeconds: 1, failureThreshold: 1 },
            },
          ],
        }),
      ])
      await Promise.all(["http", "tcp", "live", "slow"].map((name) => cluster.pod(name)))
      expect((await cluster.pod("slow", () => true)).status.containerStatuses![0]!.restartCount).toBe(0)
      expect(
        await cluster.kubectl.ok("get endpoints probed -o jsonpath={.subsets[*].addresses[*].targetRef.name}"),
      ).toBe("http")
      // when readiness and liveness fail
      await cluster.kubectl.sh("http", "rm /www/index.html")
      await cluster.kubectl.sh("live", "rm /tmp/fine")
      await cluster.pod(
        "http",
        ({ status }) => status.conditions?.some(({ type, status }) => type === "Ready" && status === "False") === true,
      )
      await cluster.kubectl.ok(
        "wait --for=jsonpath={.subsets[0].notReadyAddresses[0].targetRef.name}=http endpoints/probed --timeout=10s",
      )
      const live = await cluster.pod("live", ({ status }) => status.containerStatuses?.[0]?.restartCount === 1)
      expect(live.status.containerStatuses![0]!.restartCount).toBe(1)
      await told("live", "Unhealthy", "Killing")
      for (const name of ["tcp-not", "grpc-not"])
        expect((await cluster.pod(name, () => true)).status.containerStatuses![0]!.ready).toBe(false)
      await told("grpc-not", "Unhealthy")
    }, 60_000)
  })
})
