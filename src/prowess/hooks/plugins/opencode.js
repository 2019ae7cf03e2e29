// opencode sorts the parts of a message by their ids: ours comes right behind the last.
const next = (id) =>
  id.slice(0, 4) + (BigInt("0x" + id.slice(4, 16)) + 1n).toString(16).padStart(12, "0") + id.slice(16);

export const Prowess = async ({ directory }) => ({
  "chat.message": async ({ sessionID }, { parts }) => {
    const typed = parts.filter((part) => part.type === "text" && !part.synthetic);
    const last = parts.at(-1);
    if (!typed.length || !/^prt_[0-9a-f]{12}/.test(last.id)) return;
    // Connected for a person and for a project, there are two of us: one asks.
    if (parts.some((part) => part.synthetic && part.text?.includes("(found by Prowess)"))) return;
    const prompt = typed.map((part) => part.text).join("\n");
    const text = await ask("UserPromptSubmit", { session_id: sessionID, cwd: directory, prompt });
    if (text) {
      const { messageID } = last;
      parts.push({ id: next(last.id), sessionID, messageID, type: "text", text, synthetic: true });
    }
  },
  event: async ({ event }) => {
    if (event.type === "session.idle")
      await ask("Stop", { session_id: event.properties.sessionID, cwd: directory });
  },
});
