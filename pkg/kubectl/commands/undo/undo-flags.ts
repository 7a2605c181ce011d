import { POINT_FORMS } from "../../../history/point.ts"
import { boolFlag, stringFlag } from "../../command/flag.ts"
import { allNamespacesFlag } from "../../command/shared-flags.ts"

export const undoFlags = {
  ...allNamespacesFlag("If present, undo writes in all namespaces, and to objects that are in none."),
  user: stringFlag("", "Undo what this user has written."),
  since: stringFlag("", `Undo only later writes: after ${POINT_FORMS}. With --user it is 1h if empty.`),
  apply: boolFlag(false, "If true, undo the newest apply: all that it has written."),
  at: stringFlag("", `Put all objects of the namespace back to what they were: ${POINT_FORMS}.`),
  yes: boolFlag(false, "If true, do it without asking.", { shorthand: "y" }),
  "dry-run": boolFlag(false, "If true, show the plan, and have the server check it without storing anything."),
  overwrite: boolFlag(false, "If true, restore fields and objects that others have changed since."),
  "skip-conflicts": boolFlag(false, "If true, leave fields and objects as they are that others have changed since."),
  output: stringFlag("", "The form of the plan: json, or text if empty.", { shorthand: "o" }),
}

export type UndoFlags = typeof undoFlags
