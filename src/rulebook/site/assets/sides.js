// The two sides of a change, and how they are called; see FileChange.sides in rulebook/model.py.

/** The paths by which patterns can meet a change, with their sides: both of a rename, of a copy the new one only. */
export function sidesOf({ path, old_path, status }) {
  if (status === "renamed" && old_path !== null) return [[path, "new"], [old_path, "old"]];
  if (status === "deleted") return [[path, "old"]];
  if (status === "added" || status === "copied") return [[path, "new"]];
  return [[path, "both"]];
}

/** A function that says what happened to the path of a reason, in parentheses; nothing of what stayed where it is. */
export function sideSpeaker(changes, say) {
  const known = new Map();
  for (const change of changes) for (const [path, side] of sidesOf(change)) known.set(`${side}\n${path}`, change);
  return ({ path, side }) => {
    const change = side === "both" ? undefined : known.get(`${side}\n${path}`);
    if (!change) return "";
    if (change.status === "renamed") return side === "old" ? say("moved_to", change.path) : say("moved_from", change.old_path);
    if (change.status === "copied") return say("copied_from", change.old_path);
    return say(change.status);
  };
}

/** Where a reason stands, as editors and terminals write it. */
export function placeOf({ path, line }) {
  return line ? `${path}:${line}` : path;
}
