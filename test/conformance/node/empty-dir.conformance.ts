/** emptyDir volumes. After test/e2e/common/storage/empty_dir.go and test/e2e/storage/empty_dir_wrapper.go. */
import { expect } from "bun:test"
import { sh } from "../../harness/cluster.ts"
import { describeStandIns } from "./stand-in.ts"

/** The user of upstream's image in tests that are named non-root. */
const NON_ROOT = 1001
const rows = [
  { title: "EmptyDir volumes should support (root,0644,tmpfs)", mode: "0644", medium: "Memory" },
  { title: "EmptyDir volumes should support (root,0666,tmpfs)", mode: "0666", medium: "Memory" },
  { title: "EmptyDir volumes should support (root,0777,tmpfs)", mode: "0777", medium: "Memory" },
  { title: "EmptyDir volumes should support (non-root,0644,tmpfs)", mode: "0644", medium: "Memory", user: NON_ROOT },
  { title: "EmptyDir volumes should support (non-root,0666,tmpfs)", mode: "0666", medium: "Memory", user: NON_ROOT },
  { title: "EmptyDir volumes should support (non-root,0777,tmpfs)", mode: "0777", medium: "Memory", user: NON_ROOT },
  { title: "EmptyDir volumes should support (root,0644,default)", mode: "0644" },
  { title: "EmptyDir volumes should support (root,0666,default)", mode: "0666" },
  { title: "EmptyDir volumes should support (root,0777,default)", mode: "0777" },
  { title: "EmptyDir volumes should support (non-root,0644,default)", mode: "0644", user: NON_ROOT },
  { title: "EmptyDir volumes should support (non-root,0666,default)", mode: "0666", user: NON_ROOT },
  { title: "EmptyDir volumes should support (non-root,0777,default)", mode: "0777", user: NON_ROOT },
]
const SYMBOLIC: Record<string, string> = { "0644": "-rw-r--r--", "0666": "-rw-rw-rw-", "0777": "-rwxrwxrwx" }
const FSTYPE = "stat -f -c %T /test-volume"

describeStandIns("emptyDir", (standIn) => {
  for (const { title, mode, medium, user } of rows)
    standIn(title, async (ns) => {
      const log = await ns.output(
        "pod",
        `umask 0; echo 'mount-tester new file' > /test-volume/test-file; chmod ${mode} /test-volume/test-file
         id -u; stat -c '%A' /test-volume/test-file; cat /test-volume/test-file; ${FSTYPE}`,
        { volumeMounts: [{ name: "v", mountPath: "/test-volume" }] },
        {
          volumes: [{ name: "v", emptyDir: medium === undefined ? {} : { medium } }],
          ...(user === undefined ? {} : { securityContext: { runAsUser: user } }),
        },
      )
      const [uid, permissions, content, fs] = log.trim().split("\n")
      expect([uid, permissions, content]).toEqual([String(user ?? 0), SYMBOLIC[mode], "mount-tester new file"])
      if (medium === "Memory") expect(fs).toBe("tmpfs")
      else expect(fs).not.toBe("tmpfs")
    })

  for (const [title, medium] of [
    ["EmptyDir volumes volume on tmpfs should have the correct mode", "Memory"],
    ["EmptyDir volumes volume on default medium should have the correct mode", ""],
  ] as const)
    standIn(title, async (ns) => {
      const log = await ns.output(
        "pod",
        `stat -c '%A' /test-volume; ${FSTYPE}`,
        { volumeMounts: [{ name: "v", mountPath: "/test-volume" }] },
        { volumes: [{ name: "v", emptyDir: medium === "" ? {} : { medium } }] },
      )
      const [permissions, fs] = log.trim().split("\n")
      expect(permissions).toBe("drwxrwxrwx")
      if (medium === "Memory") expect(fs).toBe("tmpfs")
      else expect(fs).not.toBe("tmpfs")
    })

  standIn("EmptyDir volumes pod should support shared volumes between containers", async (ns) => {
    const volumeMounts = [{ name: "v", mountPath: "/usr/share/volumeshare" }]
    await ns.runPod("pod", {
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [
        { volumeMounts },
        {
          volumeMounts,
          command: sh(
            "echo Hello from the busy-box sub-container > /usr/share/volumeshare/shareddata.txt; trap 'exit 0' TERM; " +
              "sleep 3600 & wait $!",
          ),
        },
      ],
    })
    const seen = await ns.untilSh("pod", "cat /usr/share/volumeshare/shareddata.txt", (out) => out.startsWith("Hello"))
    expect(seen).toBe("Hello from the busy-box sub-container\n")
  })

  standIn("EmptyDir wrapper volumes should not conflict", async (ns) => {
    await Promise.all([
      ns.create("secrets", "emptydir-wrapper", { stringData: { "data-1": "value-1" } }),
      ns.create("configmaps", "emptydir-wrapper", { data: { "data-1": "value-1" } }),
    ])
    await ns.runPod("pod", {
      volumes: [
        { name: "secret", secret: { secretName: "emptydir-wrapper" } },
        { name: "configmap", configMap: { name: "emptydir-wrapper" } },
      ],
      containers: [
        {
          volumeMounts: [
            { name: "secret", mountPath: "/etc/secret-volume", readOnly: true },
            { name: "configmap", mountPath: "/etc/configmap-volume" },
          ],
        },
      ],
    })
    expect(await ns.sh("pod", "cat /etc/secret-volume/data-1 /etc/configmap-volume/data-1")).toBe("value-1value-1")
  })

  standIn("EmptyDir wrapper volumes should not cause race condition when used for configmaps", async (ns) => {
    // 5 pods at the same time with 50 volumes each, three times
    const names = Array.from({ length: 50 }, (_, i) => `racey-configmap-${i}`)
    await Promise.all(names.map((name) => ns.create("configmaps", name, { data: { "data-1": "value-1" } })))
    for (const round of [1, 2, 3]) {
      const pods = [1, 2, 3, 4, 5].map((n) => `wrapped-${round}-${n}`)
      await Promise.all(
        pods.map((pod) =>
          ns.runPod(pod, {
            volumes: names.map((name) => ({
              name,
              configMap: { name, items: [{ key: "data-1", path: "data-1" }] },
            })),
            containers: [{ volumeMounts: names.map((name, i) => ({ name, mountPath: `/etc/config-${i}` })) }],
          }),
        ),
      )
      for (const pod of pods)
        expect(await ns.sh(pod, "cat /etc/config-*/data-1 | wc -c")).toBe(`${names.length * "value-1".length}\n`)
      await ns.cluster.delete(`${ns.path}/pods`)
      await ns.cluster.untilList(`${ns.path}/pods`, (left) => left.length === 0)
    }
  })
})
