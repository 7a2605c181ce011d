import { expect, test } from "bun:test"
import type { Pod } from "../api/core/v1/pod/pod.ts"
import { transitionTime } from "./pod-state.ts"

const [BEFORE, NOW] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]
const pod = (status: string) =>
  ({ status: { conditions: [{ type: "DisruptionTarget", status, lastTransitionTime: BEFORE }] } }) as unknown as Pod

test.each([
  ["keeps its time while its status stays", pod("True"), BEFORE],
  ["gets a new time with another status", pod("False"), NOW],
  ["gets the time at which it is new", { status: {} } as Pod, NOW],
])("a condition %s", (_, before, time) => expect(transitionTime(before, "DisruptionTarget", "True", NOW)).toBe(time))
