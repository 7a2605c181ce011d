/**
 * How containers start, end and are reported. After runtime.go, kubelet.go, kubelet_etc_hosts.go, init_container.go,
 * ephemeral_containers.go, security_context.go and sysctl.go of test/e2e/common/node, and
 * test/e2e/node/security_context.go.
 */
import { expect } from "bun:test"
import { BUSYBOX, sh, stay } from "../../harness/cluster.ts"
import type { Loose } from "../cluster.ts"
import { condition } from "../workloads/workload-cluster.ts"
import {
  containerStatuses,
  hasEnded,
  until,
  type ContainerSpec,
  type ContainerStatus,
  type PodInput,
  type TestNamespace,
} from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

const initStatuses = (pod: Loose | undefined) =>
  (pod?.status["initContainerStatuses"] ?? []) as readonly ContainerStatus[]

describeStandIns("containers", (standIn) => {
  standIn(
    "Container Runtime blackbox test when starting a container that exits should run with the expected status",
    async (ns) => {
      // exits with 1 the first time and with 0 the second time, and keeps running the third time
      const script = `
      count=$(echo hello >> /count/file; wc -l < /count/file)
      [ $count -eq 1 ] && exit 1
      [ $count -eq 2 ] && exit 0
      trap 'exit 0' TERM; while :; do sleep 1; done`
      const rows = [
        { restartPolicy: "Always", phase: "Running", state: "running", restarts: 2, ready: true },
        { restartPolicy: "OnFailure", phase: "Succeeded", state: "terminated", restarts: 1, ready: false },
        { restartPolicy: "Never", phase: "Failed", state: "terminated", restarts: 0, ready: false },
      ] as const
      await Promise.all(
        rows.map(async ({ restartPolicy, phase, state, restarts, ready }) => {
          const name = restartPolicy.toLowerCase()
          await ns.createPod(name, {
            restartPolicy,
            volumes: [{ name: "count", emptyDir: { medium: "Memory" } }],
            containers: [{ command: sh(script), volumeMounts: [{ name: "count", mountPath: "/count" }] }],
          })
          const pod = await ns.untilPod(name, (found) => {
            const [status] = containerStatuses(found)
            return found?.status.phase === phase && status?.restartCount === restarts && status.ready === ready
          })
          expect(Object.keys(containerStatuses(pod)[0]!.state)).toEqual([state])
          await ns.cluster.delete(`${ns.path}/pods/${name}`)
          await ns.untilPod(name, (found) => found === undefined)
        }),
      )
    },
  )

  for (const { title, container, phase, message } of [
    {
      title:
        "Container Runtime blackbox test on terminated container should report termination message if TerminationMessagePath is set as non-root user and at a non-default path",
      container: {
        command: sh("echo -n DONE > /dev/termination-custom-log"),
        terminationMessagePath: "/dev/termination-custom-log",
        securityContext: { runAsUser: 10000 },
      },
      phase: "Succeeded",
      message: "DONE",
    },
    {
      title:
        "Container Runtime blackbox test on terminated container should report termination message from log output if TerminationMessagePolicy FallbackToLogsOnError is set",
      container: { command: sh("echo -n DONE; false"), terminationMessagePolicy: "FallbackToLogsOnError" },
      phase: "Failed",
      message: "DONE",
    },
    {
      title:
        "Container Runtime blackbox test on terminated container should report termination message as empty when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set",
      container: { command: sh("echo -n DONE; true"), terminationMessagePolicy: "FallbackToLogsOnError" },
      phase: "Succeeded",
      message: undefined,
    },
    {
      title:
        "Container Runtime blackbox test on terminated container should report termination message from file when pod succeeds and TerminationMessagePolicy FallbackToLogsOnError is set",
      container: {
        command: sh("echo -n OK > /dev/termination-log; echo DONE; true"),
        terminationMessagePolicy: "FallbackToLogsOnError",
      },
      phase: "Succeeded",
      message: "OK",
    },
  ])
    standIn(title, async (ns) => {
      const { pod } = await ns.endOf("pod", { containers: [container as Partial<ContainerSpec>] })
      expect(pod.status.phase).toBe(phase)
      expect(containerStatuses(pod)[0]!.state.terminated?.message).toBe(message)
      await ns.cluster.delete(`${ns.path}/pods/pod`)
    })

  standIn("Kubelet when scheduling a busybox command in a pod should print the output to logs", async (ns) => {
    await ns.createPod("pod", { containers: [{ command: stay("echo 'Hello World'") }] })
    await ns.untilPod("pod", (pod) => pod?.status.phase === "Running")
    const since = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+/, "")
    expect(await ns.untilLog("pod", (log) => log !== "", `sinceTime=${since}`)).toBe("Hello World\n")
  })

  const alwaysFails: PodInput = { containers: [{ command: ["/bin/false"] }] }
  standIn(
    "Kubelet when scheduling a busybox command that always fails in a pod should have an terminated reason",
    async (ns) => {
      await ns.createPod("pod", alwaysFails)
      const pod = await ns.untilPod("pod", hasEnded)
      expect(containerStatuses(pod)).toHaveLength(1)
      expect(containerStatuses(pod)[0]!.state.terminated).toMatchObject({ exitCode: 1, reason: "Error" })
    },
  )

  standIn(
    "Kubelet when scheduling a busybox command that always fails in a pod should be possible to delete",
    async (ns) => {
      await ns.createPod("pod", alwaysFails)
      await ns.cluster.delete(`${ns.path}/pods/pod`)
      await ns.untilPod("pod", (pod) => pod === undefined)
    },
  )

  standIn("Kubelet when scheduling an agnhost Pod with hostAliases should write entries to /etc/hosts", async (ns) => {
    const log = await ns.output(
      "pod",
      "cat /etc/hosts",
      {},
      { hostAliases: [{ ip: "123.45.67.89", hostnames: ["foo", "bar"] }] },
    )
    expect(log).toContain("123.45.67.89\tfoo\tbar")
  })

  standIn("Kubelet when scheduling a read only busybox container should not write to root filesystem", async (ns) => {
    await ns.runPod("pod", {
      containers: [{ command: stay("echo test > /file"), securityContext: { readOnlyRootFilesystem: true } }],
    })
    expect(await ns.untilLog("pod", (log) => log !== "")).toMatch(/can't create \/file: Read-only file system\n$/)
  })

  standIn("KubeletManagedEtcHosts should test kubelet managed /etc/hosts file", async (ns) => {
    const original = { name: "hosts", mountPath: "/etc/hosts-original" }
    const own = { name: "hosts", mountPath: "/etc/hosts" }
    const volumes = [{ name: "hosts", hostPath: { path: "/etc/hosts", type: "FileOrCreate" as const } }]
    await Promise.all([
      ns.runPod("pod", {
        volumes,
        containers: [
          { name: "one", volumeMounts: [original] },
          { name: "two", volumeMounts: [original] },
          { name: "three", volumeMounts: [original, own] },
        ],
      }),
      ns.runPod("host", {
        volumes,
        hostNetwork: true,
        containers: [
          { name: "one", volumeMounts: [original] },
          { name: "two", volumeMounts: [original] },
        ],
      }),
    ])
    const isManaged = async (pod: string, container: string) => {
      const [hosts, before] = [
        await ns.sh(pod, "cat /etc/hosts", container),
        await ns.sh(pod, "cat /etc/hosts-original", container),
      ]
      expect([hosts.length > 0, before.length > 0]).toEqual([true, true])
      return hosts.startsWith("# Kubernetes-managed hosts file.") && hosts !== before
    }
    expect([await isManaged("pod", "one"), await isManaged("pod", "two"), await isManaged("pod", "three")]).toEqual([
      true,
      true,
      false,
    ])
    expect([await isManaged("host", "one"), await isManaged("host", "two")]).toEqual([false, false])
  })

  /** Checks what must hold in every state of a pod with init containers: containerInitInvariant in init_container.go. */
  function checkInvariants(states: readonly Loose[]): void {
    let wasInitialized = false
    for (const pod of states) {
      const statuses = initStatuses(pod)
      if (statuses.length === 0) continue
      const failed = statuses.some(({ state }) => (state.terminated?.exitCode ?? 0) !== 0)
      const done = statuses.every(({ state, ready }) => state.terminated?.exitCode === 0 && ready)
      if (!done)
        for (const { state, restartCount } of containerStatuses(pod))
          expect([state.waiting?.reason, restartCount]).toEqual(["PodInitializing", 0])
      const initialized = condition(pod, "Initialized")
      expect(initialized?.status).toBe(done && !failed ? "True" : "False")
      expect(wasInitialized && !done).toBe(false)
      wasInitialized = done
    }
  }
  const initContainers = (...commands: readonly string[]) =>
    commands.map((command, i) => ({ name: `init${i + 1}`, image: BUSYBOX, command: [command] }))
  /** Returns all states of a pod up to the wanted one. */
  async function watched(ns: TestNamespace, pod: PodInput, wanted: (pod: Loose) => boolean): Promise<readonly Loose[]> {
    const watch = await ns.cluster.watch(`${ns.path}/pods?fieldSelector=metadata.name%3Dpod`)
    await ns.createPod("pod", pod)
    const events = await watch.until((seen) => seen.length > 0 && wanted(seen.at(-1)!.object))
    watch.close()
    return events.map(({ object }) => object)
  }

  for (const [title, restartPolicy, command, phase] of [
    ["InitContainer should invoke init containers on a RestartNever pod", "Never", sh("true"), "Succeeded"],
    ["InitContainer should invoke init containers on a RestartAlways pod", "Always", stay(), "Running"],
  ] as const)
    standIn(title, async (ns) => {
      const states = await watched(
        ns,
        { restartPolicy, initContainers: initContainers("/bin/true", "/bin/true"), containers: [{ command }] },
        (pod) => pod.status.phase === phase,
      )
      checkInvariants(states)
      const end = states.at(-1)!
      expect(condition(end, "Initialized")?.status).toBe("True")
      expect(initStatuses(end).map(({ ready, state }) => [ready, state.terminated?.exitCode])).toEqual([
        [true, 0],
        [true, 0],
      ])
    })

  standIn(
    "InitContainer should not start app containers if init containers fail on a RestartAlways pod",
    async (ns) => {
      const states = await watched(
        ns,
        {
          restartPolicy: "Always",
          initContainers: initContainers("/bin/false", "/bin/true"),
          containers: [{ command: stay() }],
        },
        (pod) => (initStatuses(pod)[0]?.restartCount ?? 0) >= 3,
      )
      checkInvariants(states)
      for (const pod of states) {
        for (const { state } of containerStatuses(pod)) expect(state.waiting?.reason).toBe("PodInitializing")
        const [first, second] = initStatuses(pod)
        if (second !== undefined) expect(second.state.waiting?.reason).toBe("PodInitializing")
        expect(first?.state.terminated?.exitCode).not.toBe(0)
      }
      const end = states.at(-1)!
      expect([end.status.phase, initStatuses(end).length]).toEqual(["Pending", 2])
      expect(condition(end, "Initialized")).toMatchObject({
        status: "False",
        reason: "ContainersNotInitialized",
        message: "containers with incomplete status: [init1 init2]",
      })
    },
  )

  standIn(
    "InitContainer should not start app containers and fail the pod if init containers fail on a RestartNever pod",
    async (ns) => {
      const states = await watched(
        ns,
        { initContainers: initContainers("/bin/true", "/bin/false"), containers: [{ command: sh("true") }] },
        (pod) => pod.status.phase === "Failed",
      )
      checkInvariants(states)
      const end = states.at(-1)!
      expect(initStatuses(end).map(({ state }) => state.terminated?.exitCode)).toEqual([0, 1])
      expect(condition(end, "Initialized")).toMatchObject({
        status: "False",
        reason: "ContainersNotInitialized",
        message: "containers with incomplete status: [init2]",
      })
      expect(containerStatuses(end).map(({ state }) => state.waiting?.reason)).toEqual(["PodInitializing"])
    },
  )

  const polo = { command: sh("while true; do echo polo; sleep 2; done"), stdin: true, tty: true }
  async function withDebugger(ns: TestNamespace): Promise<void> {
    const made = await ns.runPod("pod", { containers: [{ command: ["/bin/sleep"], args: ["10000"] }] })
    expect(made.metadata.generation).toBe(1)
    await ns.cluster.patch(`${ns.path}/pods/pod/ephemeralcontainers`, "strategic", {
      spec: { ephemeralContainers: [{ name: "debugger", image: BUSYBOX, ...polo }] },
    })
    const pod = await ns.untilPod("pod", (found) => {
      const [status] = (found?.status["ephemeralContainerStatuses"] ?? []) as readonly ContainerStatus[]
      return status?.state.running !== undefined
    })
    expect(pod.metadata.generation).toBe(2)
    expect((await ns.exec("pod", "/bin/echo marco", "debugger")).out).toContain("marco")
    expect(await ns.untilLog("pod", (log) => log.includes("polo"), "container=debugger")).toContain("polo")
  }
  standIn("Ephemeral Containers will start an ephemeral container in an existing pod", withDebugger)

  standIn("Ephemeral Containers should update the ephemeral containers in an existing pod", async (ns) => {
    await withDebugger(ns)
    const path = `${ns.path}/pods/pod/ephemeralcontainers`
    const containers = (pod: Loose) => pod.spec["ephemeralContainers"] as object[]
    expect(containers(await ns.cluster.get(path))).toHaveLength(1)
    await until(
      "an update without conflict",
      async () => {
        const pod = await ns.cluster.get(`${ns.path}/pods/pod`)
        const another = { name: "debugger2", image: BUSYBOX, imagePullPolicy: "IfNotPresent" }
        const ephemeralContainers = [...containers(pod), { ...another, terminationMessagePolicy: "File" }]
        const { code } = await ns.cluster.send("PUT", path, {
          body: { ...pod, spec: { ...pod.spec, ephemeralContainers } },
        })
        return code
      },
      (code) => code === 200,
    )
    expect(containers(await ns.cluster.get(path))).toHaveLength(2)
  })

  standIn(
    "Security Context When creating a container with runAsUser should run the container with uid 65534",
    async (ns) => {
      expect(await ns.output("pod", "id -u", { securityContext: { runAsUser: 65534 } })).toBe("65534\n")
    },
  )

  standIn(
    "Security Context When creating a pod with privileged should run the container as unprivileged when false",
    async (ns) => {
      const { pod, log } = await ns.endOf("pod", {
        containers: [{ command: sh("ip link add dummy0 type dummy || true"), securityContext: { privileged: false } }],
      })
      expect(pod.status.phase).toBe("Succeeded")
      expect(log).toContain("Operation not permitted")
    },
  )

  standIn(
    "Security Context When creating a pod with readOnlyRootFilesystem should run the container with writable rootfs when readOnlyRootFilesystem=false",
    async (ns) => {
      await ns.output("pod", "touch checkfile", { securityContext: { readOnlyRootFilesystem: false } })
    },
  )

  standIn(
    "Security Context when creating containers with AllowPrivilegeEscalation should not allow privilege escalation when false",
    async (ns) => {
      // a program with the setuid bit keeps the user, and the kernel's flag no_new_privs is set
      const script = (path: string) => `cp /bin/busybox ${path} && chmod 4755 ${path} && ls -l ${path} | cut -c1-10`
      const volumes = [{ name: "v", emptyDir: {} }]
      const volumeMounts = [{ name: "v", mountPath: "/v" }]
      const { pod, log } = await ns.endOf("pod", {
        volumes,
        initContainers: [{ name: "prepare", image: BUSYBOX, command: sh(script("/v/busybox")), volumeMounts }],
        containers: [
          {
            volumeMounts,
            command: sh("/v/busybox id -u; grep NoNewPrivs /proc/self/status; stat -c %A /v/busybox"),
            securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false },
          },
        ],
      })
      expect(pod.status.phase).toBe("Succeeded")
      expect(log).toBe("1000\nNoNewPrivs:\t1\n-rwsr-xr-x\n")
    },
  )

  for (const [title, context] of [
    [
      "Security Context should support pod.Spec.SecurityContext.RunAsUser And pod.Spec.SecurityContext.RunAsGroup",
      "pod",
    ],
    [
      "Security Context should support container.SecurityContext.RunAsUser And container.SecurityContext.RunAsGroup",
      "c",
    ],
  ] as const)
    standIn(title, async (ns) => {
      const [outer, inner] = context === "pod" ? [1001, undefined] : [1002, 1001]
      const log = await ns.output(
        "pod",
        "id",
        inner === undefined ? {} : { securityContext: { runAsUser: inner, runAsGroup: 2002 } },
        { securityContext: { runAsUser: outer, runAsGroup: context === "pod" ? 2002 : 2003 } },
      )
      expect(log).toMatch(/^uid=1001\b.* gid=2002\b/)
    })

  standIn("Sysctls should support sysctls", async (ns) => {
    const log = await ns.output(
      "pod",
      "sysctl kernel.shm_rmid_forced",
      {},
      { securityContext: { sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }] } },
    )
    expect(log).toContain("kernel.shm_rmid_forced = 1")
    const events = await ns.cluster.get(`${ns.path}/events?fieldSelector=involvedObject.name%3Dpod,type%3DWarning`)
    expect(events.items).toEqual([])
  })
})
