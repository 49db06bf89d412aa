# Redmine's config.ru. The first start seeds, because a process of its own for that would load Redmine a second time.
require '/usr/share/redmine/config/environment'
# No test reads Redmine's log, which takes a tenth of the time of a request.
Rails.logger.level = :fatal
if ENV['SEED']
  load ENV['SEED']
  $stdout.flush
end
# The times that Rails stores are those of a clock that is ahead or behind.
if ENV['CLOCK_OFFSET']
  offset = ENV['CLOCK_OFFSET'].to_i
  Time.singleton_class.prepend(Module.new { define_method(:now) { |**options| super(**options) + offset } })
end
# One request at a time.
use Rack::Lock if ENV['SERIAL'] == '1'
run Rails.application
