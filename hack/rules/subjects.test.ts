import { describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { commitsIn, subjectFault } from "./subjects.ts"

describe("the subject of a commit", () => {
  test.each(["Refuse a patch over 3 MiB", `Refuse ${"é".repeat(65)}`])("may be %j", (subject) => {
    expect(subjectFault(subject)).toBeUndefined()
  })

  test.each([
    { subject: `Refuse ${"x".repeat(66)}`, fault: "has 73 characters" },
    { subject: "refuse a patch", fault: "begins with no capital" },
    { subject: "Refuse a patch.", fault: "ends with a full stop" },
  ])("may not be $subject: $fault", ({ subject, fault }) => {
    expect(subjectFault(subject)).toStartWith(fault)
  })
})

describe("the commits that are checked", () => {
  test("are those since a time, also of a shallow clone, and none where there is no repository", () => {
    const folder = mkdtempSync(join(tmpdir(), "k3ts-subjects-"))
    try {
      // given a repository with two commits, and a clone of the newer
      const git = (at: string, ...args: string[]) =>
        spawnSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
          cwd: at,
          env: {
            ...process.env,
            GIT_COMMITTER_DATE: args.includes("First") ? "2026-01-01T00:00:00Z" : "2026-02-01T00:00:00Z",
          },
        })
      const [origin, clone] = [join(folder, "origin"), join(folder, "clone")]
      git(folder, "init", "-q", origin)
      for (const subject of ["First", "Second", "Third"]) git(origin, "commit", "-q", "--allow-empty", "-m", subject)
      git(folder, "clone", "-q", "--depth=1", `file://${origin}`, clone)
      // then
      const subjects = (at: string) => commitsIn(at, "2026-01-15T00:00:00Z").map((commit) => commit.split(" ")[1])
      expect(subjects(origin)).toEqual(["Third", "Second"])
      expect(subjects(clone)).toEqual(["Third"])
      expect(commitsIn(folder, "2026-01-15T00:00:00Z")).toEqual([])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
