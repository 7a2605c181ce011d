import { readFileSync } from "node:fs"

/**
 * Returns what the kernel tells this process of itself in `/proc/self` (proc(5)): the text of the file of that name.
 * Empty where there is no such file, or it cannot be read, as in some sandboxes.
 */
export function procSelf(file: "limits" | "smaps" | "status"): string {
  try {
    return readFileSync(`/proc/self/${file}`, "utf8")
  } catch {
    return ""
  }
}
