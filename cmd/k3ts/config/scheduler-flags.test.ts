import { expect, test } from "bun:test"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DEFAULT_FEATURES } from "../../../pkg/component/features.ts"
import { silent } from "../../../pkg/log/log.ts"
import { settingsWith } from "../../../components/scheduler/config/scheduler-settings.ts"
import { ownPlugin, schedulerOf, type SchedulerFlags } from "./scheduler-flags.ts"

const scheduling = (flags: Partial<SchedulerFlags>) =>
  schedulerOf(
    {
      "scheduler-config": undefined,
      "scheduler-plugin": [],
      "scheduler-plugin-reload": false,
      "feature-gates": DEFAULT_FEATURES,
      ...flags,
    },
    silent,
  )

const fileOf = (text: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), "k3ts-scheduler-")), "scheduler.yaml")
  writeFileSync(file, text)
  return file
}

test("--scheduler-config gives the profiles of the file", async () => {
  const file = fileOf(
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 4\nprofiles:\n- schedulerName: a\n- schedulerName: b\n",
  )
  const found = await scheduling({ "scheduler-config": file })
  expect(found?.settings?.profiles.map(({ name }) => name)).toEqual(["a", "b"])
  expect(found?.settings?.meaningless).toEqual(["parallelism"])
  expect(await scheduling({})).toBeUndefined()
})

test("--scheduler-config refuses a faulty file with the line, the field and the mend of each fault", async () => {
  const file = fileOf(
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: a\n" +
      "  plugins:\n    score:\n      enabled:\n      - name: NodeAfinity\n  pluginConfig:\n  - name: InterPodAffinity\n" +
      "    args:\n      hardPodAffinityWeight: 101\n",
  )
  const refused = await scheduling({ "scheduler-config": file }).catch((err: Error) => err.message)
  expect(refused).toContain(`${file}:8: profiles[0].plugins.score.enabled[0].name: Invalid value: "NodeAfinity"`)
  expect(refused).toContain("did you mean NodeAffinity?")
  expect(refused).toContain(`${file}:12: profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101`)
})

test("--scheduler-config names a file that cannot be read", async () => {
  await expect(scheduling({ "scheduler-config": "/nowhere/s.yaml" })).rejects.toThrow("/nowhere/s.yaml")
})

test.each([
  { isReloaded: true, score: true },
  { isReloaded: false, score: false },
])("a plugin has a place at points where it has no method yet, if it can be loaded again: $isReloaded", (given) => {
  const plugin = { name: "Mine", points: ["filter"], weight: 3 } as const
  const [profile] = settingsWith({ own: [ownPlugin(plugin, given.isReloaded)], features: DEFAULT_FEATURES }).profiles
  const { enabled, weights } = profile!.plugins
  expect(enabled.filter).toContain("Mine")
  expect(enabled.score.includes("Mine")).toBe(given.score)
  expect(enabled.queueSort).toEqual(["PrioritySort"])
  expect(weights.get("Mine")).toBe(3)
})
