/**
 * Variables and commands, and their expansion. After configmap.go, secrets.go, downwardapi.go, expansion.go,
 * containers.go and pods.go of test/e2e/common/node.
 */
import { expect } from "bun:test"
import { WEB, sh, stay } from "../../harness/cluster.ts"
import { containerStatuses, type ContainerSpec, type TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

const data = { "data-1": "value-1", "data-2": "value-2", "data-3": "value-3" }
const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })
const amount = (name: string, resource: string) => ({ name, valueFrom: { resourceFieldRef: { resource } } })
const IPV4 = String.raw`(\d{1,3}\.){3}\d{1,3}`

/**
 * Returns the variables of a container, one a line. A shell would hide variables whose names are not valid in it.
 */
const variables = async (ns: TestNamespace, container: Partial<ContainerSpec>, name = "pod") =>
  (await ns.output(name, "", { command: ["env"], ...container })).trim().split("\n")
const all = (...prefixes: readonly string[]) =>
  prefixes.flatMap((prefix) => Object.entries(data).map(([key, value]) => `${prefix}${key}=${value}`))

describeStandIns("environment", (standIn) => {
  standIn("ConfigMap should be consumable via environment variable", async (ns) => {
    await ns.create("configmaps", "test", { data })
    const found = await variables(ns, {
      env: [{ name: "CONFIG_DATA_1", valueFrom: { configMapKeyRef: { name: "test", key: "data-1" } } }],
    })
    expect(found).toContain("CONFIG_DATA_1=value-1")
  })

  standIn("ConfigMap should be consumable via the environment", async (ns) => {
    await ns.create("configmaps", "test", { data })
    const found = await variables(ns, {
      envFrom: [{ configMapRef: { name: "test" } }, { prefix: "p-", configMapRef: { name: "test" } }],
    })
    expect(found).toEqual(expect.arrayContaining(all("", "p-")))
  })

  const prefixes = ["1-", "$_-", "ABC_", "#@!"]
  standIn("ConfigMap should be consumable as environment variable names with various prefixes", async (ns) => {
    await ns.create("configmaps", "test", { data })
    const found = await variables(ns, {
      envFrom: ["", ...prefixes].map((prefix) => ({ prefix, configMapRef: { name: "test" } })),
    })
    expect(found).toEqual(expect.arrayContaining(all("", ...prefixes)))
  })

  standIn("Secrets should be consumable from pods in env vars", async (ns) => {
    await ns.create("secrets", "test", { stringData: data })
    const found = await variables(ns, {
      env: [{ name: "SECRET_DATA", valueFrom: { secretKeyRef: { name: "test", key: "data-1" } } }],
    })
    expect(found).toContain("SECRET_DATA=value-1")
  })

  standIn("Secrets should be consumable via the environment", async (ns) => {
    await ns.create("secrets", "test", { stringData: data })
    const found = await variables(ns, {
      envFrom: [{ secretRef: { name: "test" } }, { prefix: "p-", secretRef: { name: "test" } }],
    })
    expect(found).toEqual(expect.arrayContaining(all("", "p-")))
  })

  standIn(
    "Secrets should be consumable as environment variable names variable names with various prefixes",
    async (ns) => {
      await ns.create("secrets", "test", { stringData: data })
      const found = await variables(ns, {
        envFrom: ["", ...prefixes].map((prefix) => ({ prefix, secretRef: { name: "test" } })),
      })
      expect(found).toEqual(expect.arrayContaining(all("", ...prefixes)))
    },
  )

  standIn("Downward API should provide pod name, namespace and IP address as env vars", async (ns) => {
    const env = [
      field("POD_NAME", "metadata.name"),
      field("POD_NAMESPACE", "metadata.namespace"),
      field("POD_IP", "status.podIP"),
    ]
    const found = await variables(ns, { env }, "named")
    expect(found).toEqual(
      expect.arrayContaining([
        "POD_NAME=named",
        `POD_NAMESPACE=${ns.name}`,
        expect.stringMatching(new RegExp(`^POD_IP=${IPV4}$`)),
      ]),
    )
  })

  standIn("Downward API should provide host IP as an env var", async (ns) => {
    const found = await variables(ns, { env: [field("HOST_IP", "status.hostIP")] })
    const hostIp = (await ns.cluster.get(`${ns.path}/pods/pod`)).status["hostIP"] as string
    expect(found).toContain(`HOST_IP=${hostIp}`)
    expect(hostIp).toMatch(new RegExp(`^${IPV4}$`))
  })

  standIn("Downward API should provide hostIPs as an env var", async (ns) => {
    const found = await variables(ns, { env: [field("HOST_IPS", "status.hostIPs")] })
    const hostIps = (await ns.cluster.get(`${ns.path}/pods/pod`)).status["hostIPs"] as { ip: string }[]
    expect(found).toContain(`HOST_IPS=${hostIps.map(({ ip }) => ip).join(",")}`)
    expect(hostIps[0]!.ip).toMatch(new RegExp(`^${IPV4}$`))
  })

  const amounts = [
    amount("CPU_LIMIT", "limits.cpu"),
    amount("MEMORY_LIMIT", "limits.memory"),
    amount("CPU_REQUEST", "requests.cpu"),
    amount("MEMORY_REQUEST", "requests.memory"),
  ]
  standIn(
    "Downward API should provide container's limits.cpu/memory and requests.cpu/memory as env vars",
    async (ns) => {
      const found = await variables(ns, {
        env: amounts,
        resources: { requests: { cpu: "250m", memory: "32Mi" }, limits: { cpu: "1250m", memory: "64Mi" } },
      })
      expect(found).toEqual(
        expect.arrayContaining(["CPU_LIMIT=2", "MEMORY_LIMIT=67108864", "CPU_REQUEST=1", "MEMORY_REQUEST=33554432"]),
      )
    },
  )

  standIn("Downward API should provide default limits.cpu/memory from node allocatable", async (ns) => {
    const found = await variables(ns, { env: amounts.slice(0, 2) })
    const [node] = (await ns.cluster.get("/api/v1/nodes")).items
    const { cpu, memory } = node!.status["allocatable"] as Record<string, string>
    const bytes = memory!.endsWith("Ki") ? Number(memory!.slice(0, -2)) * 1024 : Number(memory)
    expect(found).toEqual(expect.arrayContaining([`CPU_LIMIT=${cpu}`, `MEMORY_LIMIT=${bytes}`]))
  })

  standIn("Downward API should provide pod UID as env vars", async (ns) => {
    const found = await variables(ns, { env: [field("POD_UID", "metadata.uid")] })
    const { uid } = (await ns.cluster.get(`${ns.path}/pods/pod`)).metadata
    expect(uid).toMatch(/^[a-z0-9]{8}-[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{12}$/)
    expect(found).toContain(`POD_UID=${uid}`)
  })

  standIn("Variable Expansion should allow composing env vars into new env vars", async (ns) => {
    const found = await variables(ns, {
      env: [
        { name: "FOO", value: "foo-value" },
        { name: "BAR", value: "bar-value" },
        { name: "FOOBAR", value: "$(FOO);;$(BAR)" },
      ],
    })
    expect(found).toEqual(expect.arrayContaining(["FOO=foo-value", "BAR=bar-value", "FOOBAR=foo-value;;bar-value"]))
  })

  const testVar = { env: [{ name: "TEST_VAR", value: "test-value" }] }
  const script = 'TEST_VAR=wrong echo "$(TEST_VAR)"'
  standIn("Variable Expansion should allow substituting values in a container's command", async (ns) => {
    expect(await ns.output("pod", script, testVar)).toBe("test-value\n")
  })

  standIn("Variable Expansion should allow substituting values in a container's args", async (ns) => {
    expect(await ns.output("pod", "", { ...testVar, command: ["sh", "-c"], args: [script] })).toBe("test-value\n")
  })

  const workdir = { volumes: [{ name: "workdir1", emptyDir: {} }] }
  standIn("Variable Expansion should allow substituting values in a volume subpath", async (ns) => {
    const log = await ns.output(
      "foo",
      "test -d /testcontainer/foo; echo $?",
      {
        env: [{ name: "POD_NAME", value: "foo" }],
        volumeMounts: [
          { name: "workdir1", mountPath: "/logscontainer", subPathExpr: "$(POD_NAME)" },
          { name: "workdir1", mountPath: "/testcontainer" },
        ],
      },
      workdir,
    )
    expect(log).toBe("0\n")
  })

  for (const [title, value] of [
    ["Variable Expansion should fail substituting values in a volume subpath with backticks", ".."],
    ["Variable Expansion should fail substituting values in a volume subpath with absolute path", "/tmp"],
  ] as const)
    standIn(title, async (ns) => {
      await ns.createPod("pod", {
        ...workdir,
        containers: [
          {
            command: stay(),
            env: [{ name: "POD_NAME", value }],
            volumeMounts: [{ name: "workdir1", mountPath: "/logscontainer", subPathExpr: "$(POD_NAME)" }],
          },
        ],
      })
      await ns.untilPod(
        "pod",
        (pod) => containerStatuses(pod)[0]?.state.waiting?.reason === "CreateContainerConfigError",
      )
    })

  const byAnnotation = {
    command: stay(),
    env: [{ name: "POD_NAME", value: "foo" }, field("ANNOTATION", "metadata.annotations['mysubpath']")],
    volumeMounts: [
      { name: "workdir1", mountPath: "/subpath_mount", subPathExpr: "$(ANNOTATION)/$(POD_NAME)" },
      { name: "workdir1", mountPath: "/volume_mount" },
    ],
  }
  standIn(
    "Variable Expansion should verify that a failing subpath expansion can be modified during the lifecycle of a container",
    async (ns) => {
      // given a path with an annotation that does not exist
      await ns.createPod("pod", {
        ...workdir,
        containers: [byAnnotation],
        metadata: { annotations: { notmysubpath: "mypath" } },
      })
      const failing = await ns.untilPod(
        "pod",
        (pod) => containerStatuses(pod)[0]?.state.waiting?.reason === "CreateContainerConfigError",
      )
      expect(failing.status.phase).toBe("Pending")

      // when the annotation is added, then the container starts
      await ns.cluster.patch(`${ns.path}/pods/pod`, "merge", { metadata: { annotations: { mysubpath: "mypath" } } })
      await ns.untilPod("pod", (pod) => pod?.status.phase === "Running")
      await ns.cluster.delete(`${ns.path}/pods/pod`)
      await ns.untilPod("pod", (pod) => pod === undefined)
    },
  )

  standIn("Variable Expansion should succeed in writing subpaths in container", async (ns) => {
    const annotated = (mysubpath: string) => ({ metadata: { annotations: { mysubpath } } })
    await ns.runPod("pod", { ...workdir, ...annotated("mypath"), containers: [byAnnotation] })
    await ns.sh("pod", "touch /volume_mount/mypath/foo/test.log")
    await ns.sh("pod", "test -f /subpath_mount/test.log")
    await ns.cluster.patch(`${ns.path}/pods/pod`, "merge", annotated("mynewpath"))
    const pod = await ns.untilPod("pod", (found) => found?.status.phase === "Running")
    expect(containerStatuses(pod)[0]!.restartCount).toBe(0)
    await ns.sh("pod", "test -f /subpath_mount/test.log")
    await ns.cluster.delete(`${ns.path}/pods/pod`)
    await ns.untilPod("pod", (found) => found === undefined)
  })

  // The image of the web server has an entrypoint and no command, that of busybox a command and no entrypoint.
  const commandLine = (ns: TestNamespace, pod: string) =>
    ns.sh(pod, String.raw`tr '\0' ' ' < /proc/1/cmdline; echo; pwd`)
  standIn("Containers should use the image defaults if command and args are blank", async (ns) => {
    await ns.runPod("web", { containers: [{ image: WEB }] })
    expect(await commandLine(ns, "web")).toBe("/bin/sh /usr/bin/web \n/www\n")
    await ns.output("busybox", "", { command: [], args: [], env: [{ name: "ENV", value: "/dev/null" }] })
  })

  standIn("Containers should be able to override the image's default arguments (container cmd)", async (ns) => {
    expect(await ns.output("busybox", "", { command: [], args: ["echo", "override", "arguments"] })).toBe(
      "override arguments\n",
    )
    await ns.runPod("web", { containers: [{ image: WEB, args: ["override", "arguments"] }] })
    expect(await commandLine(ns, "web")).toBe("/bin/sh /usr/bin/web override arguments \n/www\n")
  })

  standIn("Containers should be able to override the image's default command (container entrypoint)", async (ns) => {
    await ns.runPod("web", { containers: [{ image: WEB, command: stay() }] })
    expect(await commandLine(ns, "web")).toStartWith("sh -c trap ")
    expect(await ns.output("busybox", "", { command: ["echo", "entrypoint"] })).toBe("entrypoint\n")
  })

  standIn("Containers should be able to override the image's default command and arguments", async (ns) => {
    expect(await ns.output("web", "", { image: WEB, command: ["echo"], args: ["override", "arguments"] })).toBe(
      "override arguments\n",
    )
  })

  standIn("Pods should contain environment variables for services", async (ns) => {
    const server = await ns.runPod("server", { metadata: { labels: { name: "server" } } })
    expect(server.status.phase).toBe("Running")
    const service = await ns.create("services", "fooservice", {
      spec: { ports: [{ port: 8765, targetPort: 8080 }], selector: { name: "server" } },
    })
    const ip = service.spec.clusterIP!
    await ns.createPod("client", { containers: [{ command: sh("env") }] })
    await ns.untilPod("client", (pod) => pod?.status.phase === "Succeeded")
    expect((await ns.log("client")).split("\n")).toEqual(
      expect.arrayContaining([
        `FOOSERVICE_SERVICE_HOST=${ip}`,
        "FOOSERVICE_SERVICE_PORT=8765",
        `FOOSERVICE_PORT=tcp://${ip}:8765`,
        `FOOSERVICE_PORT_8765_TCP=tcp://${ip}:8765`,
        "FOOSERVICE_PORT_8765_TCP_PROTO=tcp",
        "FOOSERVICE_PORT_8765_TCP_PORT=8765",
        `FOOSERVICE_PORT_8765_TCP_ADDR=${ip}`,
      ]),
    )
  })
})
